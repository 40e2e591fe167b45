"""headwork bench: attention here, beside the other implementations that are installed."""

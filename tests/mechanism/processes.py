"""How a test starts a process of its own."""

import sys

# Under scripts/sanitize.py Python runs with -S: so does what it starts, or it would run the kernel that is installed.
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]

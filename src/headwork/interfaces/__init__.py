"""Where people meet Headwork: parse, call one function, render. No mathematics here."""

"""Checks somebody's own attention: runs it apart, finds its conventions, names what is wrong with it."""

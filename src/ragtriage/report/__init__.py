"""Showing what was found out: in the terminal (`terminal`, `terminal_case`), and as one HTML file (`html`)."""

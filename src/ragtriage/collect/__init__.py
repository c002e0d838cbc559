"""Asks the user's own application and writes what it answers as cases."""

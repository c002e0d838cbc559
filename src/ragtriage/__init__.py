"""ragtriage."""

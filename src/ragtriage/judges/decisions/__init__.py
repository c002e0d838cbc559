"""Decision models: each answers many typed questions about one state with a probability, and writes no text."""

"""The viewer: look through the runs of a store in a browser, compare them, and label what was judged."""

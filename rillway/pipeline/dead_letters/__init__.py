"""Dead letters: entries that were delivered again and again, moved to a stream of their own."""

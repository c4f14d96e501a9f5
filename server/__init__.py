"""The I/O layer: event loop, sockets, disk, clock and randomness. No other layer touches them."""

"""The only layer that touches the loop, sockets, disk, the clock and chance."""

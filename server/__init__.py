"""The I/O layer: event loop, sockets, disk, clock and randomness. No other layer touches them."""

import protocol  # noqa: F401 (makes `import cython` succeed)

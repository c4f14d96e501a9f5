"""The cluster core on a real machine: sockets, a file, a timer, this server's data.

runner.py     runs the core: its timer, its actions, nodes.conf, the data that it asks about
bus.py        the connections of the bus
"""

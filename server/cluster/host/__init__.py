"""The cluster core on a real machine: sockets, a file, a timer, this server's data.

runner.py     carries out what the core wants done, in its order
bus.py        the connections of the bus
node_file.py  nodes.conf, locked and synced
data.py       what the core asks about keys and replication
release.py    blocked clients whose slot has left
"""

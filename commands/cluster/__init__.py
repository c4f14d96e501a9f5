"""Cluster mode, as clients see it: CLUSTER, redirection, ASKING, READONLY and READWRITE.

mode.py        this node, which server/cluster/ implements, and the slots that it serves
routing.py     whether a request is served here, and where the client is sent; ASKING, READONLY,
               READWRITE
reading.py     CLUSTER: what this node knows
changing.py    CLUSTER: slots, nodes, epochs
"""

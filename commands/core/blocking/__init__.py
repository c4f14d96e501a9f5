"""Clients that wait for a key.

ready_keys:      keys that were written while clients wait for them
blocked_clients: blocked clients and what they wait for
blocking_pops:   BLPOP, BZPOPMIN and their relatives
"""

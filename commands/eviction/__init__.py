"""The memory limit: what is counted, and which keys are evicted.

eviction: the memory in use (INFO: used_memory), and the choice of the next key by the policy
"""

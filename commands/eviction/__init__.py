"""The memory limit: what is counted, and which keys are evicted.

memory_use: the memory in use (INFO: used_memory)
eviction:   chooses the next key by the policy, and removes it
"""

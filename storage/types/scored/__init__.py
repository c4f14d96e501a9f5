"""Members with scores, as sorted sets keep them.

record:        a member with its score in one bytes object
record_order:  records in order, with their ranks
"""

"""The policies of a stream: Rillway's own. A stream without a policy has None.

stream_policy: what a stream has of policies, in one attribute of it
retention:     which entries a stream keeps: its settings and counters
schedule:      entries that are added to a stream later
content_bytes: the bytes of a stream's fields and values
surplus:       what is beyond the limits of a retention, and may go
group_policy:  what a group has: the options of its deliveries, reasons, counters
due_entries:   when the pending entries of a group fall due
key_order:     the keys of a group with KEY-FIELD: what may be given to whom
key_lock:      the lock of a key: its pending entries, and who has them
group_rows:    the policies of groups as rows
rows:          policies as rows of words: for snapshots, files and replicas
"""

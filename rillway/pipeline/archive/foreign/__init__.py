"""Changes that another program makes to the table: compaction, deletion, a restore.

`changes`   finds their commits in the log, and refuses what cannot be read
`absences`  the rows that they removed, as known absences
`holes`     fills lost spans from entries in memory or from a copy
"""

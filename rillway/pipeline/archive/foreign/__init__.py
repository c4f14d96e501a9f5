"""Changes that another program makes to the table: compaction, deletion, a restore.

`commits`   finds their commits in the log
`changes`   refuses what cannot be read, before anything is archived or trimmed
`absences`  the rows that they removed, as known absences
`holes`     fills lost spans from entries in memory or from a copy
"""

"""Erasure: removes entries from memory, archive and mirror, so that no file has their bytes.

`journal`     the IDs of erased entries, in files beside the log
`selection`   the entries that a condition, IDs or a range select, in rows and in memory
`targets`     erased entries by stream, epoch and ID, and the rows that have them
`rewriting`   files without erased rows, and the commit that names them
`memory`      deletes entries from streams, also those that come back later
`traces`      deletes what older versions of the archive leave: log, states, files
`progress`    the account of an erasure, which a killed one leaves to the next; its certificate
`eraser`      all steps, in an order that allows to repeat them
`commands`    `rillway archive erase`
"""

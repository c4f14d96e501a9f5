"""Typed columns: fields of entries as values that engines read, next to what is left of `fields`.

`schema`      which fields of which streams have columns, and of which types
`ddl`         columns in the words of Spark's DDL
`requests`    what is asked for, and what becomes of it
`layouts`     in which order an entry had its fields
`canonical`   the one text of a value by which it need not stay in `fields`
`encoding`    entries as columns
`decoding`    rows as the entries that they were
`batches`     rows of several streams
`footers`     the layouts of a file's rows, for repairs
`statistics`  the least and the greatest values, for the table's log
`inference`   a schema by what is in streams
`entries`     the same, of several streams
`uncovered`   fields that have no column
`backfill`    older rows get the columns of the present schema
`commands`    what of `rillway archive` is about columns

Nothing is lost: an entry is made again byte for byte, whatever its fields hold.
"""

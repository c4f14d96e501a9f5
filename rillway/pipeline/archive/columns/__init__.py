"""Typed columns: fields of entries as typed values for engines, beside the remaining `fields`.

`schema`      the columns of each stream: fields and types
`ddl`         parses columns in Spark's DDL
`requests`    applies `--schema` or a YAML file to the present schema
`layouts`     the order of an entry's fields
`canonical`   the canonical text of a value, which need not stay in `fields`
`encoding`    converts entries to columns
`decoding`    converts rows back to entries
`entries`     the same for rows of several streams
`conversion`  the types that other programs give to columns
`batches`     adds typed columns to batches of several streams
`statistics`  the least and greatest values of columns, for the table's log
`inference`   proposes a schema for existing entries
`uncovered`   counts fields that have no column
`backfill`    gives older rows the present columns
`commands`    the options of `rillway archive` that concern columns

Nothing is lost: each entry can be rebuilt byte for byte, whatever its fields contain.
"""

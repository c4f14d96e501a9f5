"""Entries and rows in Arrow columns.

`schema`             the columns of entries, for Arrow and for Spark
`decoder`            entries as the server sent them, to batches
`column_parser`      text to values of a column's type
`time_format`        times in a Spark pattern
`json_columns`       JSON to values of a column's type, nested ones too
`encoder`            batches to XADD requests
`origins`            the entry that each row of a batch comes from
`group_tables`       pending entries and groups as columns
`collector`          pauses Python's garbage collector while entries are converted
"""

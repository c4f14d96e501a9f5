"""Spark's side: the formats, their readers and writers, and the session.

`formats/`            top-level modules by whose names Spark finds the formats
`datasource`          the format `redis-streams`
`frames`              a stream as a DataFrame that reads only the rows and columns it needs
`options`             its options, read and checked
`source`              reads streams, in batches and as a stream
`starts`              options to the positions where a query starts and ends
`shadow_group`        a consumer group that shows the progress of a query
`sink`                writes streams, in batches and as a stream
`writer`              batches of rows to pipelined XADD requests
`ledger`              a record of what a task has written, so that its next attempt continues
`group_formats`       `redis-streams-pending` and `redis-streams-groups`, with their options
`versions`            what older versions of Spark lack
`spark_session`       a session that starts quickly and prints little; errors in one line
`class_archive`       Java's class-data archive, for quicker starts
"""

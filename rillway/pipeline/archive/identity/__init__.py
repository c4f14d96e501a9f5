"""Which history an archive holds: whether a stream is still the one that was archived.

`epochs`       the histories of a stream, and what the archive knows of it
`state_files`  that knowledge, as files beside the table's log
`sources`      what a server says about itself and a stream when a round begins
`units`        what the first half of a stream's IDs counts
`lost`         archives that are gone although streams have their markers
`walk`         compares what is live with what is archived, by bytes
`recognition`  goes on, opens a new epoch, or refuses
`guards`       moves the marker and trims, if marker and anchor are where they should be
`scripts`      the same checks in Lua

docs/architecture/pipeline.md has the reasons.
"""

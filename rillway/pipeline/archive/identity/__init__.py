"""Identity: checks that a stream is still the one that was archived.

`epochs`       the histories of a stream, and the archive's record of it
`state_files`  these records as files beside the table's log
`sources`      the identity of a server and the state of a stream when a round begins
`units`        the unit of a stream's IDs
`lost`         archives that no longer exist although streams have their markers
`walk`         compares live entries with archived rows, byte for byte
`compared`     remembers what readers have compared
`recognition`  continues, opens a new epoch, or refuses
`guards`       moves the marker and trims, provided that marker and anchor are as expected
`scripts`      the checks of guards in Lua

docs/architecture/pipeline.md has the reasons.
"""

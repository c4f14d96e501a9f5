"""The parts that the commands of the pipeline share.

`arguments`     arguments that several commands take
`interruption`  Ctrl-C and SIGTERM, at a place where a command can stop
`progress`      rows, rate and time left of a long command
`text_table`    tables for a terminal
`plots`         plots as PNG files
"""

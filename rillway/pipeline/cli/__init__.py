"""The parts that the commands of the pipeline share; rillway/command_line/ is for all sub-commands.

`interruption`  Ctrl-C and SIGTERM, at a place where a command can stop
`progress`      rows, rate and time left of a long command; lines that repeat at most once a minute
`plots`         plots as PNG files
"""

"""`rillway top`: a server's streams, groups and consumers, live in the terminal.

A client of any Redis server, over rillway/sampler. It never writes.

`arguments`  the options
`command`   the loops: live, once, JSON
`feed`      drives the sampler in a thread, over a connection that may be lost
`state`     keys to state: what is selected, sorted, filtered, opened
`history`   lag over the last minutes, for sparklines
`screen`    state and figures to the lines of a screen, or to plain lines: pure
`tables`    the parts of the screen: streams, groups, consumers, clients, entries
`queue_table`  the table of queues of job frameworks: pure
`text`      text in cells of a terminal: safe, cut, padded; numbers and sparklines
`terminal`  termios, keys, resizing, the alternate screen
"""

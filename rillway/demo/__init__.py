"""The demo: a year of real departures through one stream and one consumer group.

    departures.py  the data set: read, put in time order, counted
    producer.py    pipelined XADD at a steady rate
    consumer.py    one of ten processes: blocking XREADGROUP, acknowledge, crash or claim
    tally.py       what each consumer has counted, in memory that outlives the process
    audit.py       the proof: what the server holds against what the data set says
    report.py      tables, the latency histogram, progress
    service.py     a server started for the demo
    command.py     `rillway demo`: puts these together and sets the exit status

It is a client like any other: redis-py over a socket, and nothing of the server's own code.
"""

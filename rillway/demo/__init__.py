"""The demo: a year of real departures through one stream and one consumer group.

    departures.py  the data set: read, sorted by time, counted
    producer.py    pipelined XADD at a steady rate
    consumer.py    one of ten processes: blocking XREADGROUP, acknowledge, crash or claim
    tally.py       each consumer's counters, in memory that outlives the process
    audit.py       the proof: compares the server's data with the data set
    report.py      tables, the latency histogram, progress
    service.py     a server started for the demo
    command.py     `rillway demo`: runs all of this and sets the exit status

It is an ordinary client: redis-py over a socket, without any of the server's code.
"""

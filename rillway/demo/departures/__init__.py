"""A year of real departures through one stream and one consumer group, with a proof.

data_set.py  the data set: read, sorted by time, counted
producer.py  pipelined XADD at a steady rate
consumer.py  one of ten processes: blocking XREADGROUP, acknowledge, crash or claim
tally.py     each consumer's counters, in memory that outlives the process
progress.py  `rillway top`, bars or lines while it runs
audit.py     the proof: compares the server's data with the data set
report.py    tables, the latency histogram
command.py   `rillway demo departures`: runs all of this and returns the exit status
"""

"""The records that a server keeps about itself while it runs.

stats:           counters for INFO
histogram:       latency histograms
latency:         the latency monitor
slowlog:         the slow log
invalidation_table: client-side caching
tracked_requests: which keys go into that table
notifications:   classes of keyspace events
persistence_state: the state of loading and saving
background_work: work done in small steps between requests
producer_ids:    streams whose producers' IDs expire
"""

"""Reports of an archiver's rounds and streams, for people, programs and Prometheus.

`rounds`   the outcome of a round, as lines and as an object
`metrics`  metrics of rounds in a file for Prometheus
`status`   how far each stream is archived
"""

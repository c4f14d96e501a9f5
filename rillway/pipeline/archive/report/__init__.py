"""Reports of an archiver's rounds and streams, for people, programs and Prometheus.

`rounds`   a round as lines, and as one object
`metrics`  rounds in a file for Prometheus
`status`   where the streams of an archive are
"""

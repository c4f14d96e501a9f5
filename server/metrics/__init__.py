"""The endpoint for Prometheus: metrics as text, and probes of life and readiness, over HTTP.

names: the names of metrics, most of them those of redis_exporter
text: the text format
collection: collects the metrics of an instance in small steps
streams: the part of it that walks over streams, groups and consumers
scrapes: one scrape at a time, whose page connections share
health: whether the server is ready to serve
connection: one HTTP connection
hosts: which Host headers are answered where no login is asked for
endpoint: the listeners, and the answers
"""

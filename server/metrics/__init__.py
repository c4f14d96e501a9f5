"""The endpoint for Prometheus: metrics as text, and probes of life and readiness, over HTTP.

names: the names of metrics, most of them those of redis_exporter
collection: collects the metrics of an instance in small steps
streams: the part of it that walks over streams, groups and consumers
connection: one HTTP connection
endpoint: the listeners, and the answers
"""

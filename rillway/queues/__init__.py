"""Queues of job frameworks, recognised by their keys on any Redis-compatible server; no I/O.

`queue`            a queue, its figures, its jobs; what a framework answers
`frameworks`       the table of frameworks
`celery_queues`    Celery: figures, jobs, actions
`rq_queues`        RQ: the same
`bullmq_queues`    BullMQ: the same
`shown_queues`     arq, dramatiq, huey, taskiq, FastStream, saq: figures and jobs
`finder`           finds and measures queues within a share of the server's time
"""

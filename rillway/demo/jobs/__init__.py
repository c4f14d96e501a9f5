"""A queue of jobs with workers that crash, live in `rillway top`; it needs no data set.

work.py      what a job is, and the keys
worker.py    processes that do jobs, with `rillway.consumer`: hired, killed, replaced
command.py   `rillway demo`: adds jobs, kills workers, counts what became of each job
"""

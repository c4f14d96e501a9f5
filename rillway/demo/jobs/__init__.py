"""A queue of jobs that make trouble, live in `rillway top`; it needs no data set.

work.py      what a job is, and the keys
queue.py     the stream and its group: adds jobs, and says what is left
worker.py    processes that do jobs, with `rillway.consumer`, and write into the ledger
audit.py     what became of each job, from streams and dead letters
command.py   `rillway demo`: adds jobs, replaces workers that crash, prints the account
"""

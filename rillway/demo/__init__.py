"""Programs that show and prove what groups are for, with workers that crash.

    jobs/          `rillway demo`: a queue of jobs that make trouble, every one accounted for
    departures/    `rillway demo departures`: a year of real departures, every one accounted for
    command.py     chooses one of the two, and says what went wrong
    arguments.py   the arguments of both
    service.py     what they share: a server, the screen of `rillway top`, the keys

They are ordinary clients: redis-py over a socket, without any of the server's code.
"""

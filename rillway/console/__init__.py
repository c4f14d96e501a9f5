"""`rillway console`: streams, groups and pending entries of any Redis server as web pages.

`arguments`    the options
`command`      the HTTP server
`application`  routes, and what all requests share
`security`     headers, the Host check, what a write must bring
`login`        sessions, passwords
`console`      what all requests share
`api`          the answers as JSON
`pages`        the answers as HTML
`events`       server-sent events: samples, and entries as they arrive
`views`        what each page shows, as words
`formats`      figures as words; keys, names and values in URLs and text
`watch`        drives the sampler for all viewers of a database
`history`      lag, pending and age of groups over a day
`data`         what is read from the server, and written to it
"""

"""`rillway console`: streams, groups and pending entries of any Redis server as web pages.

`arguments`    the options
`command`      the HTTP server
`application`  the ASGI application: routes, templates, common headers
`access`       who may use it, and what is noted of it
`console`      the state that all requests share: settings, sessions, watches
`calls`        a request: its session, parameters, rights, errors
`api`          the answers as JSON
`pages`        the answers as HTML
`events`       server-sent events: samples, and entries as they arrive
`views`        the content of each page as text
`queue_views`  the content of the pages of queues
`formats`      figures as text; keys, names and values in URLs and text
`watch`        drives the sampler for all viewers of a database
`history`      lag, pending and age of groups over a day
`data`         reads from the server, and writes to it
"""

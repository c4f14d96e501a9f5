"""The console's reads and writes on a server, without HTTP.

`link`     the connections of one user
`entries`  entries of a stream, page by page
`facts`    the cluster, a stream's policy
`groups`   groups, consumers, pending entries
`actions`  acknowledge, claim, dead-letter, send back, add
`queues`   queues of job frameworks, their jobs, actions on them
"""

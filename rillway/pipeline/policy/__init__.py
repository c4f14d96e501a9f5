"""Policies of a stream and of a group: what the server removes, redelivers, gives up.

`settings`   the options: their flags, their words on the wire, their values as text
`change`     reads policies, and changes those of a stream and a group together
`sentences`  what a policy means, and warnings
`arguments`  the arguments of `rillway policy`
`command`    `rillway policy`
"""

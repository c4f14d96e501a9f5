"""Lag over time: how far consumer groups are behind, and when they will have caught up.

`samples`  samples of all groups
`limits`   which groups are over a limit
`plot`     draws samples of groups (rillway/sampler/trend.py)
`arguments`  the options
`command`  `rillway lag`
"""

"""Lag over time: how far consumer groups are behind, and when they will have caught up.

`samples`  samples of all groups: taken, compared with limits, drawn
`arguments`  the options
`command`  `rillway lag`
"""

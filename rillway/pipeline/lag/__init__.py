"""Lag over time: how far consumer groups are behind, and when they will have caught up.

`plot`     draws them
`command`  `rillway lag`
"""

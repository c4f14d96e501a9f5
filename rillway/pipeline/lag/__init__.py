"""Lag over time: how far consumer groups are behind, and when they will have caught up.

`series`   samples of groups, and the rates between them
`plot`     draws them
`command`  `rillway lag`
"""

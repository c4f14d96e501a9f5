"""Why a group is slow: what holds its entries, and what can be done about it.

`findings`   what two samples of a group show: pure
`arguments`  the options
`command`    `rillway why`
"""

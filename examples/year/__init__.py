"""The pipeline's main job on real input: a year of departures, archived day by day while consumers
lag, queried across the boundary, replayed, and every count compared with the data set's.

`year`     runs the days
`proof`    queries and compares
`plots`    draws
`command`  `make pipeline-demo`
"""

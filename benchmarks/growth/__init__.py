"""How the time of each request grows while one quantity doubles, beside redis-server.

requests.py     the requests
quantities.py   what is doubled
growth.py       exponents, and what is reported
"""

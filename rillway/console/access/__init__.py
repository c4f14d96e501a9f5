"""Who may use the console, and what is noted of it.

`login`     sessions, passwords
`users`     the console's own users, and their roles
`security`  headers, the Host check, requirements on a write
`audit`     a line for each action
"""

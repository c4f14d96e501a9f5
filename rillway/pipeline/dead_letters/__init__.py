"""Dead letters: entries that were delivered too often, moved to a stream of their own.

`mover`    finds them, and moves each once
`redrive`  moves them back
`arguments`  the options
`command`   `rillway dead-letters`
"""

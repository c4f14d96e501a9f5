"""Dead letters: moves entries that were delivered too often to a stream of their own.

`mover`      finds them, and moves each once
`redrive`    moves them back
`arguments`  the arguments of `rillway dead-letters`
`command`    `rillway dead-letters`
"""

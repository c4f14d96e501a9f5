"""The commands that read entries without a group.

ranges:        XRANGE, XREVRANGE, XLEN
long_ranges:   ranges whose reply is sent in pieces
read:          XREAD
read_request:  the request of XREAD and XREADGROUP
request_cache: recently parsed requests
reply_caps:    MAXCOUNT and MAXSIZE
split:         XSPLIT
"""

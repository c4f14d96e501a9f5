"""The stream commands.

add:           XADD
trim:          XTRIM, and the trimming options of XADD
delete:        XDEL, XDELEX, XDELRANGE, and what deletions do with the references of groups
ranges:        XRANGE, XREVRANGE, XLEN, XSPLIT
read:          XREAD, and the form of the request and the reply that XREADGROUP shares
request_cache: recently parsed requests
groups/:       consumer groups
policies/:     what streams and groups do by themselves
info:          XINFO
settings:      XCFGSET, XSETID
idempotence:   entries that are sent twice, XIDMPRECORD
ids:           parsing and formatting of entry IDs
lookup:        streams and groups by name, damaged streams
"""

"""The numbers that begin the records of an RDB file.

A record begins with the type of a value, from 0 upwards, or with an opcode, from 255 downwards.
"""

from __future__ import annotations

# -- types of values that are held here (the others: storage/snapshot/reader.py) ------------

STRING = 0
HASH = 4
HASH_ZIPMAP = 9
HASH_ZIPLIST = 13
HASH_LISTPACK = 16  # Redis 7.0
OLD_HASH_WITH_TIMES = 22  # of release candidates of Redis 7.4
OLD_HASH_LISTPACK_EX = 23
VALKEY_HASH_WITH_TIMES = 22  # Valkey 9
HASH_WITH_TIMES = 24  # 7.4
HASH_LISTPACK_EX = 25
HASH_TEMPLATE_LISTPACK = 30  # 8.10
HASH_TEMPLATE_VALUES = 32
STREAM = 15  # Redis 5.0
STREAM_2 = 19  # 7.0: entries ever added and read
STREAM_3 = 21  # 7.2: when consumers were active
STREAM_4 = 26  # 8.6: messages that are not to be added twice
STREAM_5 = 27  # 8.8: entries that were released
STREAMS = frozenset((STREAM, STREAM_2, STREAM_3, STREAM_4, STREAM_5))

LAST_TYPE = 32  # that has a name here
LAST_COMMON_TYPE = 21  # of Redis and of Valkey

# The version of the format (in files and payloads) that first had a type of stream.
STREAM_VERSIONS = {STREAM: 9, STREAM_2: 10, STREAM_3: 11, STREAM_4: 13, STREAM_5: 14}

# -- opcodes -----------------------------------------------------------------------------------

HASH_TEMPLATE = 242  # the fields of hashes that follow
KEY_META = 243  # what modules keep about the next key
VALKEY_SLOT_IMPORT = 243  # slots that a node of a cluster was taking over
SLOT_INFO = 244
FUNCTION = 245
OLD_FUNCTION = 246  # of release candidates of Redis 7.0
MODULE_AUX = 247
IDLE = 248
FREQUENCY = 249
AUX = 250
RESIZE_DB = 251
EXPIRE_TIME_MS = 252
EXPIRE_TIME = 253
SELECT_DB = 254
EOF = 255

# The AUX field in front of a stream that has a journal (storage/groups/ack_journal.py). Redis
# passes over fields that it does not know, wherever they stand.
ACK_JOURNAL = b"rillway-ack-journal"
# AUX fields in front of a stream that has policies, some rows in each (storage/policies/rows.py).
POLICY = b"rillway-policy"

LOWEST_OPCODE = HASH_TEMPLATE

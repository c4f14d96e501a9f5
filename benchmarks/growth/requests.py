"""The requests whose time is compared: a line for each row, rounds of which leave the data alike.

A line that is indented continues the one before. `;` separates the requests of a round. `$i` is a
number that differs in each round. The keys `h`, `s`, `z`, `l`, `x`, `str` hold few members; `H`,
`S`, `Z`, `L`, `X`, `STR` those of the quantity `members`. The stream `X` also has the groups,
consumers and pending entries of other quantities.
"""

from __future__ import annotations

SEED = """
SET str abcdefgh ; SET n 1 ; SET STR a ; MSET m1 a m2 b ; PFADD hll a b c ; GEOADD geo 1 2 a 3 4 b
HSET h f1 1 f2 2 ; SADD s a b c ; SADD s2 b c d ; ZADD z 1 a 2 b 3 c ; ZADD z2 2 b 3 c ; RPUSH l a
  b c
HSET H f 1 ; SADD S m ; ZADD Z 1 m ; RPUSH L e ; SADD S2 m ; XADD x 1-1 f v ; XADD X 1-1 f v
XGROUP CREATE x g 0 ; XGROUP CREATE X g 0 ; XREADGROUP GROUP g c COUNT 1 STREAMS X >
FUNCTION LOAD "#!lua name=lib\\nredis.register_function{function_name='f', callback=function()
  return 1 end, flags={'no-writes'}}"
SCRIPT LOAD "return 1" ; ACL SETUSER bob on nopass ~* +@all
"""

ROWS = """
GET str
SET str abcdefgh
SET t v ; DEL t
SET t v EX 100 ; UNLINK t
GETSET str abcdefgh ; GETDEL none ; GETEX str
APPEND t a ; STRLEN t ; DEL t
INCR n ; DECR n ; INCRBY n 2 ; DECRBY n 2 ; INCRBYFLOAT f 1
SETNX str v ; PSETEX t 1000 v ; SETEX t 100 v
GETRANGE str 0 3 ; SUBSTR str 0 3 ; SETRANGE str 1 b ; LCS str str
MGET str n none ; MSET m1 a m2 b ; MSETNX m1 a m3 b
SETBIT bits 7 1 ; GETBIT bits 7 ; BITCOUNT bits ; BITPOS bits 1
BITFIELD bits SET u8 0 1 ; BITFIELD_RO bits GET u8 0 ; BITOP AND bits2 bits bits
PFADD hll a ; PFCOUNT hll ; PFMERGE hll2 hll
GEOADD geo 1 2 a ; GEODIST geo a b ; GEOHASH geo a ; GEOPOS geo a
GEOSEARCH geo FROMMEMBER a BYRADIUS 1 km ; GEORADIUS geo 1 2 1 km ; GEORADIUSBYMEMBER geo a 1 km
GEORADIUS_RO geo 1 2 1 km ; GEORADIUSBYMEMBER_RO geo a 1 km ; GEOSEARCHSTORE geo2 geo FROMMEMBER a
  BYRADIUS 1 km
EXISTS str ; TYPE str ; TTL str ; PTTL str ; EXPIRETIME str ; PEXPIRETIME str ; TOUCH str
SET t v ; EXPIRE t 100 ; PEXPIRE t 100000 ; PERSIST t ; EXPIREAT t 4102444800 ; PEXPIREAT t
  4102444800000 ; DEL t
SET t v ; RENAME t t2 ; RENAMENX t2 t ; DEL t
COPY str t ; DEL t
SET t v ; MOVE t 1 ; SELECT 1 ; DEL t ; SELECT 0
RANDOMKEY
DBSIZE
SCAN 0 COUNT 10
KEYS none*
OBJECT ENCODING str ; OBJECT REFCOUNT str ; OBJECT IDLETIME str
DUMP str
SORT l ALPHA ; SORT_RO l ALPHA
MEMORY USAGE str
HSET h f1 1 ; HGET h f1 ; HMGET h f1 f2 ; HEXISTS h f1 ; HLEN h ; HSTRLEN h f1 ; HSETNX h f1 1
HGETALL h ; HKEYS h ; HVALS h ; HRANDFIELD h ; HSCAN h 0
HINCRBY h f1 1 ; HINCRBYFLOAT h f3 1 ; HMSET h f1 1 ; HSET h t 1 ; HDEL h t
HSET h t 1 ; HEXPIRE h 100 FIELDS 1 t ; HTTL h FIELDS 1 t ; HPTTL h FIELDS 1 t ; HPERSIST h FIELDS
  1 t ; HDEL h t
HSET h t 1 ; HPEXPIRE h 100000 FIELDS 1 t ; HEXPIRETIME h FIELDS 1 t ; HPEXPIRETIME h FIELDS 1 t ;
  HDEL h t
HSETEX h FIELDS 1 t 1 ; HGETEX h FIELDS 1 t ; HGETDEL h FIELDS 1 t
SADD s a ; SISMEMBER s a ; SMISMEMBER s a b ; SCARD s ; SMEMBERS s ; SRANDMEMBER s ; SSCAN s 0
SADD s t ; SREM s t ; SADD s t ; SMOVE s s3 t ; SPOP s3
SINTER s s2 ; SUNION s s2 ; SDIFF s s2 ; SINTERCARD 2 s s2
SINTERSTORE s4 s s2 ; SUNIONSTORE s4 s s2 ; SDIFFSTORE s4 s s2
ZADD z 1 a ; ZSCORE z a ; ZMSCORE z a b ; ZCARD z ; ZRANK z b ; ZREVRANK z b ; ZCOUNT z 1 2 ;
  ZLEXCOUNT z - +
ZRANGE z 0 -1 ; ZREVRANGE z 0 -1 ; ZRANGEBYSCORE z 1 2 ; ZREVRANGEBYSCORE z 2 1 ; ZRANGEBYLEX z - +
  ; ZREVRANGEBYLEX z + -
ZINCRBY z 1 c ; ZADD z 9 t ; ZREM z t ; ZRANDMEMBER z ; ZSCAN z 0 ; ZRANGESTORE z3 z 0 1
ZADD z 9 t ; ZPOPMAX z ; ZADD z 0 t ; ZPOPMIN z ; ZADD z 0 t ; ZMPOP 1 z MIN
ZADD z 9 t ; ZREMRANGEBYSCORE z 9 9 ; ZADD z 9 t ; ZREMRANGEBYRANK z -1 -1 ; ZREMRANGEBYLEX z2 [y [z
ZINTER 2 z z2 ; ZUNION 2 z z2 ; ZDIFF 2 z z2 ; ZINTERCARD 2 z z2
ZINTERSTORE z3 2 z z2 ; ZUNIONSTORE z3 2 z z2 ; ZDIFFSTORE z3 2 z z2
RPUSH l t ; RPOP l ; LPUSH l t ; LPOP l ; LPUSHX l t ; LPOP l ; RPUSHX l t ; RPOP l
LLEN l ; LINDEX l 1 ; LRANGE l 0 -1 ; LPOS l b ; LSET l 0 a ; LTRIM l 0 9
LINSERT l BEFORE b t ; LREM l 1 t ; RPUSH l t ; LMOVE l l2 RIGHT LEFT ; LPOP l2 ; RPUSH l t ;
  RPOPLPUSH l l2 ; LPOP l2
RPUSH l t ; LMPOP 1 l RIGHT ; RPUSH l t ; BRPOP l 1 ; LPUSH l t ; BLPOP l 1 ; RPUSH l t ; BLMPOP 1
  1 l RIGHT
RPUSH l t ; BLMOVE l l2 RIGHT LEFT 1 ; LPOP l2 ; RPUSH l t ; BRPOPLPUSH l l2 1 ; LPOP l2
ZADD z 9 t ; BZPOPMAX z 1 ; ZADD z 0 t ; BZPOPMIN z 1 ; ZADD z 0 t ; BZMPOP 1 1 z MIN
XADD x * f v ; XTRIM x MAXLEN 3
XLEN x ; XRANGE x - + COUNT 2 ; XREVRANGE x + - COUNT 2 ; XREAD COUNT 1 STREAMS x 0 ; XREAD BLOCK 1
  COUNT 1 STREAMS x 0
XADD x * f v ; XREADGROUP GROUP g c COUNT 1 STREAMS x > ; XPENDING x g ; XACK x g 1-1 ; XTRIM x
  MAXLEN 3
XPENDING x g - + 2 ; XCLAIM x g c 0 1-1 ; XAUTOCLAIM x g c 0 0 COUNT 1
XINFO STREAM x ; XINFO GROUPS x ; XINFO CONSUMERS x g
XGROUP CREATE x t $ ; XGROUP SETID x t 0 ; XGROUP CREATECONSUMER x t c ; XGROUP DELCONSUMER x t c ;
  XGROUP DESTROY x t
XADD x * f v ; XDEL x 1-1 ; XDELEX x IDS 1 1-1 ; XACKDEL x g IDS 1 1-1 ; XTRIM x MAXLEN 3
HGET H f ; HSET H f 1 ; HSET H t 1 ; HDEL H t
HLEN H ; HEXISTS H f ; HRANDFIELD H ; HSCAN H 0
HGETALL H
HSET H t 1 ; HEXPIRE H 100 FIELDS 1 t ; HDEL H t
SADD S t ; SREM S t ; SISMEMBER S m ; SCARD S ; SRANDMEMBER S ; SSCAN S 0
SMEMBERS S
SINTER S s ; SINTERCARD 2 S s
SUNION S s
SDIFF s S
SADD S t ; SPOP S ; SADD S m
ZADD Z 1 t ; ZREM Z t ; ZSCORE Z m ; ZRANK Z m ; ZCARD Z ; ZCOUNT Z 1 2 ; ZRANGE Z 0 5 ;
  ZRANGEBYSCORE Z 1 2 LIMIT 0 5
ZREVRANGE Z 0 5 ; ZINCRBY Z 1 m ; ZINCRBY Z -1 m ; ZRANDMEMBER Z ; ZSCAN Z 0 ; ZADD Z 0 t ; ZPOPMIN
  Z
ZRANGE Z 0 -1
ZINTER 2 Z z ; ZINTERCARD 2 Z z
RPUSH L t ; RPOP L ; LPUSH L t ; LPOP L ; LLEN L ; LINDEX L 0 ; LINDEX L -1 ; LRANGE L 0 5 ; LRANGE
  L -5 -1
LRANGE L 0 -1
LPOS L none
LSET L -1 e ; LPUSH L t ; LREM L 1 t
GETRANGE STR 0 5 ; STRLEN STR ; SETRANGE STR 0 a ; GETBIT STR 5
GET STR
BITCOUNT STR
XADD X * f v ; XLEN X ; XRANGE X - + COUNT 1 ; XREVRANGE X + - COUNT 1 ; XREAD COUNT 1 STREAMS X 0
XREADGROUP GROUP g c COUNT 1 STREAMS X > ; XPENDING X g
XPENDING X g - + 10
XPENDING X g IDLE 0 - + 10 c
XREADGROUP GROUP g c COUNT 10 STREAMS X 0
XAUTOCLAIM X g c 0 0 COUNT 10
XCLAIM X g c 0 1-1
XINFO STREAM X
XINFO GROUPS X
XINFO CONSUMERS X g
XINFO STREAM X FULL COUNT 1
XGROUP CREATE X t $ ; XGROUP DESTROY X t
XGROUP CREATECONSUMER X g t ; XGROUP DELCONSUMER X g t
XADD X * f v ; XTRIM X MAXLEN ~ 1000000000
COPY X t ; DEL t
DUMP X
PUBLISH none m ; SPUBLISH none m
PUBLISH ch m
PUBSUB NUMPAT ; PUBSUB NUMSUB ch ; PUBSUB SHARDNUMSUB ch
PUBSUB CHANNELS none*
EVAL "return 1" 0
EVAL "return redis.call('get', KEYS[1])" 1 str ; EVAL_RO "return 1" 0
EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0 ; EVALSHA_RO
  e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
EVAL "return $i" 0
SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db ; SCRIPT LOAD "return 1"
FCALL f 0 ; FCALL_RO f 0 ; FUNCTION STATS
FUNCTION LIST
ACL WHOAMI ; ACL GETUSER bob ; ACL DRYRUN bob GET str ; ACL CAT read ; ACL GENPASS
ACL SETUSER t on ; ACL DELUSER t
ACL USERS
ACL LIST
AUTH bob x ; AUTH default x
CLIENT ID ; CLIENT GETNAME ; CLIENT SETNAME t ; CLIENT INFO ; CLIENT TRACKINGINFO ; CLIENT GETREDIR
  ; CLIENT NO-TOUCH off
CLIENT LIST
CLIENT LIST ID 1
CLIENT KILL ID 999999 ; CLIENT UNBLOCK 999999
CLIENT TRACKING ON BCAST ; CLIENT TRACKING OFF
MULTI ; GET str ; EXEC ; MULTI ; DISCARD ; WATCH str ; UNWATCH
SUBSCRIBE t ; UNSUBSCRIBE t ; PSUBSCRIBE t* ; PUNSUBSCRIBE t* ; SSUBSCRIBE t ; SUNSUBSCRIBE t
PING ; ECHO a ; TIME ; LASTSAVE ; ROLE ; RESET
SELECT 1 ; SELECT 0 ; SWAPDB 1 2 ; SWAPDB 1 2
COMMAND COUNT ; COMMAND INFO get ; COMMAND GETKEYS get a
CONFIG GET maxmemory ; CONFIG SET hz 10 ; CONFIG RESETSTAT
INFO server
INFO clients
INFO memory
INFO persistence
INFO stats
INFO keyspace
INFO replication
INFO commandstats
INFO
MEMORY STATS
LATENCY LATEST ; LATENCY HISTORY none ; SLOWLOG GET ; SLOWLOG LEN ; SLOWLOG RESET
LATENCY HISTOGRAM get ; LATENCY RESET none ; LATENCY DOCTOR ; MEMORY DOCTOR
WAIT 0 1 ; WAITAOF 0 0 1
ACL LOG ; CLIENT NO-EVICT off ; CLIENT SETINFO lib-name t ; COMMAND GETKEYSANDFLAGS get a
COMMAND LIST ; COMMAND DOCS get
HSET h t 1 ; HEXPIREAT h 4102444800 FIELDS 1 t ; HPEXPIREAT h 4102444800000 FIELDS 1 t ; HDEL h t
PUBSUB SHARDCHANNELS none*
"""

# Commands that no row has, by patterns of their names, and why.
LEFT_OUT = {
    "it removes what has grown: benchmarks/cases/stalls.py": (
        "flushall flushdb function|flush function|delete function|restore script|flush memory|purge"
    ),
    "it works on all data by its nature: benchmarks/cases/durability.py": (
        "bgsave bgrewriteaof save debug digest function|dump"
    ),
    "it ends or changes the connection or the server": (
        "shutdown quit monitor sync psync replconf replicaof slaveof failover client|reply hello"
        " client|pause client|unpause config|rewrite acl|load acl|save"
    ),
    "it needs a cluster, another server or a running script": (
        "cluster|* asking readonly readwrite restore-asking migrate script|kill function|kill"
    ),
    "it says the same at any time, or needs a setting or an argument made before": (
        "*|help lolwut module|list pfselftest pfdebug script|debug object|freq"
        " client|caching latency|graph restore xsetid"
    ),
    "Redis 8.2 does not have it": (
        "*movem backup|* delex himport|* hotkeys|* increx msetex *card x*schedule* xcfgset"
        " xdelrange xidmprecord xnack xinfo|policy xsplit xreason xgroup|config"
    ),
}


def lines(text: str) -> list[str]:
    """The rows of a table above."""
    return [line for line in text.replace("\n  ", " ").split("\n") if line]

"""Edge cases of commands on sets, sorted sets and places; their notation is in `edges.py`."""

from __future__ import annotations

SET_EDGES = {
    "sets": """
        SADD a 1 2 3
        SADD b 2 3 x
        SINTERCARD 0 a
        SINTERCARD x a
        SINTERCARD 2 a
        SINTERCARD 1 a LIMIT
        SINTERCARD 1 a LIMIT -1
        SINTERCARD 1 a LIMIT x
        SINTERCARD 1 a FOO 1
        SPOP a -1
        SPOP a x
        SPOP a 1 2
        SPOP a 0
        SPOP a
        SADD a 1 2 3
        SADD s a b 1
        SRANDMEMBER a x
        SRANDMEMBER a -9223372036854775808
        SRANDMEMBER a 1 2
        SRANDMEMBER a 9223372036854775808
        SSCAN s x
        SSCAN s 0 COUNT 0
        SSCAN s 0 COUNT x
        SSCAN s 0 FOO 1
        SSCAN s 0 MATCH
        SSCAN s x COUNT x
        SSCAN missing 5
        SSCAN missing x
        SMOVE a b 1
        SMISMEMBER b 1 x 9
        SDIFFSTORE a b b
        EXISTS a
    """,
    "sorted sets": """
        ZUNION 0 a
        ZUNION x a
        ZUNION 2 a
        ZUNIONSTORE d 0 a
        ZINTERCARD 0 a
        ZINTERCARD 1 a LIMIT -1
        ZINTERCARD 1 a LIMIT x
        ZINTERCARD 1 a WEIGHTS 1
        ZUNION 1 a WEIGHTS x
        ZUNION 1 a WEIGHTS
        ZUNION 1 a WEIGHTS 1 2
        ZUNION 1 a AGGREGATE FOO
        ZUNION 1 a AGGREGATE
        ZUNION 1 a WITHSCORES WITHSCORES
        ZDIFF 1 a WEIGHTS 1
        ZDIFF 1 a AGGREGATE SUM
        ZDIFFSTORE d 1 a WITHSCORES
        ZUNIONSTORE d 1 a WITHSCORES
        ZADD z 1
        ZADD z NX XX 1 a
        ZADD z GT LT 1 a
        ZADD z INCR 1 a 2 b
        ZADD z x a
        ZADD z FOO 1 a
        ZADD z nan a
        ZADD z 0x10 a
        ZADD z 1e400 b
        ZADD z 1e-400 c
        ZADD z " 1" c
        ZADD z "1 " c
        ZADD z infinity c
        ZADD z -inf d
        ZADD z INCR inf d
        ZRANGE z 0 -1 WITHSCORES
        ZRANDMEMBER z 100 WITHSCORES
        ZRANDMEMBER z x
        ZRANDMEMBER z 1 FOO
        ZRANDMEMBER z x FOO
        ZRANDMEMBER z 1 WITHSCORES FOO
        ZRANDMEMBER z -9223372036854775807 WITHSCORES
        ZRANDMEMBER z -9223372036854775808
        ZRANDMEMBER z 9223372036854775807 WITHSCORES
        ZRANGE z 0 1 LIMIT 0 1
        ZRANGE z 0 1 LIMIT 0 -1
        ZRANGE z 0 1 LIMIT 0
        ZRANGE z 0 1 BYLEX WITHSCORES
        ZRANGE z 0 1 BYLEX
        ZRANGE z x 1
        ZRANGE z x 1 BYSCORE
        ZRANGE z ( "(5" BYSCORE
        ZRANGE z "" " 5" BYSCORE
        ZRANGE z 0 "5 " BYSCORE
        ZRANGE z 1 0 BYSCORE REV LIMIT x 1
        ZREMRANGEBYRANK z x 1
        ZREMRANGEBYSCORE z x 1
        ZREMRANGEBYLEX z x 1
        ZCOUNT z x 1
        ZLEXCOUNT z x 1
        ZPOPMIN z -1
        ZPOPMIN z x
        ZPOPMIN z 1 2
        ZPOPMIN z 0
        ZMPOP 0 z MIN
        ZMPOP x z MIN
        ZMPOP 1 z FOO
        ZMPOP 1 z
        ZMPOP 1 z MIN COUNT 0
        ZMPOP 1 z MIN COUNT x
        ZMPOP 1 z MIN COUNT 1 COUNT 1
        ZMPOP 1 z MIN FOO
        ZMPOP 2 z MIN
        ZMPOP 3 z MIN
        BZMPOP x 1 z MIN
        BZMPOP -1 1 z MIN
        BZMPOP x 0 z MIN
        BZPOPMIN q x
        BZPOPMIN q -1
        BZPOPMIN q 0.001
        ZSCAN z 0
        ZSCAN z 0 TYPE zset
        ZINCRBY z x a
        ZINCRBY z 1.5 a
        ZMSCORE missing a b
        ZRANGESTORE d z 0 -1
        ZRANGESTORE d z 0 -1 WITHSCORES
        ZRANGESTORE d missing 0 -1
    """,
    "places": """
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
        GEOADD g 13.361389
        GEOADD g 13.361389 38.115556 Palermo 1
        GEOADD g NX XX 1 2 x
        GEOADD g NX CH NX CH
        GEOADD g 200 2 x
        GEOADD g 1 90 x
        GEOADD g x 1 a
        GEOADD g 1 x a
        GEOADD g CH 1 2 Palermo
        GEOADD g CH 13.361389 38.115556 Palermo
        GEODIST g Palermo Catania
        GEODIST g Palermo Catania km
        GEODIST g Palermo Catania foo
        GEODIST g Palermo Catania km x
        GEODIST g Palermo NonExisting
        GEODIST none a b
        GEODIST none a b foo
        GEOPOS g Palermo x Catania
        GEOPOS none a
        GEOPOS g
        GEOHASH g Palermo x Catania
        GEOHASH none x
        GEORADIUS g 15 37 200 km WITHDIST WITHCOORD WITHHASH
        GEORADIUS g 15 37 200 km ASC
        GEORADIUS g 15 37 200 km DESC COUNT 1
        GEORADIUS g 15 37 200 km COUNT 0
        GEORADIUS g 15 37 200 km COUNT x
        GEORADIUS g 15 37 200 km ANY
        GEORADIUS g 15 37 200 km COUNT 1 ANY
        GEORADIUS g 15 37 -1 km
        GEORADIUS g 15 37 x km
        GEORADIUS g 15 37 1 foo
        GEORADIUS g 15 370 1 foo
        GEORADIUS g 15 37 200 km STORE d WITHDIST
        GEORADIUS g 15 37 200 km STORE d
        GEORADIUS g 15 37 200 km STOREDIST d
        ZRANGE d 0 -1 WITHSCORES
        GEORADIUS_RO g 15 37 200 km STORE d
        GEORADIUSBYMEMBER g Palermo 200 km
        GEORADIUSBYMEMBER g x 200 km
        GEORADIUSBYMEMBER none x foo km
        GEORADIUSBYMEMBER none x foo km FOO
        GEORADIUS none 15 37 200 km STORE d
        EXISTS d
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 200 km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST
        GEOSEARCH g FROMLONLAT 15 37 ASC DESC COUNT 1
        GEOSEARCH g BYRADIUS 1 km ASC COUNT 1
        GEOSEARCH g FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 1 km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km BYBOX 1 1 km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX -1 1 km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX x 1 km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 x km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km STORE d
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km STOREDIST
        GEOSEARCH none FROMMEMBER x BYRADIUS 1 km
        GEOSEARCH none FROMMEMBER x BYRADIUS x km
        geosearch none BYRADIUS 1 km ASC COUNT 1
        GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST
        ZRANGE d 0 -1 WITHSCORES
        GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km WITHDIST
        GEOSEARCHSTORE d none FROMLONLAT 15 37 BYRADIUS 200 km
        SET str x
        GEORADIUS str 15 370 1 foo
        GEOADD str 15 370 a
        GEOSEARCH str FOO 1 2 3 4 5
        ZADD g -5 neg 1e300 big inf i 1.5 frac
        GEOPOS g neg big i frac
        GEODIST g neg big
    """,
    "numbers as texts": """
        ZADD z 1 a 16 b 0.5 c
        ZCOUNT z {0x1 | (0x1 | " 1" | "( 1" | +1 | (+1 | 1. | .5 | 1e1 | 1e400 | 1e-400 | nan} 100
        ZCOUNT z {inf | -infinity | INF | (inf | 1_0 | "1 " | 0x1p3 | - | (- | 1e+ | 1e+1 | ""} 100
        RPUSH l 1 {0x1 | "-0x2" | " 3" | "3 " | 1e400 | 1e-400} ; SORT l ; DEL l
        RPUSH l 1 {nan | +1 | "" | .5 | inf} ; SORT l ; DEL l
        GEOADD g 0.0001 0.0001 near -0.0001 -0.0001 west 179.5 85 far 0 0 zero
        GEOPOS g near west far zero
        GEOSEARCH g FROMLONLAT 0 0 BYRADIUS 100 km ASC WITHCOORD
        EVAL "return redis.set_repl()" 0
    """,
}

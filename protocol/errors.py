"""The texts of all errors that a client can cause; they are Redis's.

Client libraries and people match on these texts, so they are part of the interface. A
handler raises `ReplyError`; dispatch turns it into the wire form. Errors that
only we can cause are assertions and never come here.
"""

from __future__ import annotations

from protocol import replies


class ReplyError(Exception):
    """An error reply. `text` starts with its code, e.g. b"ERR syntax error"."""

    is_counted: bool = False  # whether the error statistics have counted it already

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text

    @property
    def code(self) -> bytes:
        """The first word, as INFO errorstats counts it."""
        return self.text.split(b" ", 1)[0]

    @property
    def wire(self) -> bytes:
        """The error as a reply."""
        return replies.error(self.text)


class RoutingError(ReplyError):
    """Why a node of a cluster does not serve a request; EXEC is answered with it as it is."""


# -- generic -----------------------------------------------------------------------------------

SYNTAX = b"ERR syntax error"
WRONG_TYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"
NOT_AN_INTEGER = b"ERR value is not an integer or out of range"
NOT_A_FLOAT = b"ERR value is not a valid float"
NO_SUCH_KEY = b"ERR no such key"
SAME_OBJECT = b"ERR source and destination objects are the same"
DB_INDEX_OUT_OF_RANGE = b"ERR DB index is out of range"
OUT_OF_MEMORY = b"OOM command not allowed when used memory > 'maxmemory'."
NOAUTH = b"NOAUTH Authentication required."
WRONGPASS = b"WRONGPASS invalid username-password pair or user is disabled."
SHUTDOWN_FAILED = b"ERR Errors trying to SHUTDOWN. Check logs."
NO_SHUTDOWN = b"ERR No shutdown in progress."
EXEC_ABORT = b"EXECABORT Transaction discarded because of previous errors."
NOT_IN_TRANSACTION = b"ERR Command not allowed inside a transaction"
MONITOR_KEYSPACE = b"ERR Replica can't interact with the keyspace"
UNBLOCKED = b"UNBLOCKED client unblocked via CLIENT UNBLOCK"
LOADING = b"LOADING Redis is loading the dataset in memory"
MISCONF_SNAPSHOT = (
    b"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to"
    b" disk. Commands that may modify the data set are disabled, because this instance is"
    b" configured to report errors during writes if RDB snapshotting fails"
    b" (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB"
    b" error."
)

AUDIT_LOG = (
    b"MISCONF The audit log cannot be written, and audit-required is yes: commands that administer"
    b" the server are refused. Please check the server's log for details about the error."
)


def sort_option_denied(option: bytes) -> ReplyError:
    """BY or GET of SORT by a user who may not read every key."""
    return ReplyError(b"ERR %b option of SORT denied due to insufficient ACL permissions." % option)


# -- replication -------------------------------------------------------------------------------

READ_ONLY = b"READONLY You can't write against a read only replica."
NO_REPLICAS = b"NOREPLICAS Not enough good replicas to write."
MASTER_DOWN = b"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
UNBLOCKED_ROLE_CHANGE = (
    b"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
)
NO_MASTER_LINK = b"NOMASTERLINK Can't SYNC while not connected with my master"
SYNC_WHILE_FAILING_OVER = b"NOMASTERLINK Can't SYNC while failing over"
SYNC_PENDING_OUTPUT = b"ERR SYNC and PSYNC are invalid with pending output"
FILTERED_WITHOUT_EOF = b"ERR Filtered replica requires EOF capability"
# With this code a Redis asks again, once a second; with others it would go on with SYNC.
OLDER_REPLICA = (
    b"NOMASTERLINK hash fields here have a time to live, which no Redis before 7.4 can hold: if"
    b" this replica is a newer one, set repl-snapshot-version to auto"
)
NO_SNAPSHOT_FOR_REPLICA = b"ERR BGSAVE failed, replication can't continue"
REPLICAOF_WHILE_FAILING_OVER = b"ERR REPLICAOF not allowed while failing over."
NOT_FOR_REPLICAS = b"ERR Command is not valid when client is a replica."
INVALID_MASTER_PORT = b"ERR Invalid master port"
NO_FAILOVER = b"ERR No failover in progress."
FAILOVER_TIMEOUT = b"ERR FAILOVER timeout must be greater than 0"
FAILOVER_IN_PROGRESS = b"ERR FAILOVER already in progress."
FAILOVER_ON_REPLICA = b"ERR FAILOVER is not valid when server is a replica."
FAILOVER_WITHOUT_REPLICAS = b"ERR FAILOVER requires connected replicas."
FAILOVER_FORCE = b"ERR FAILOVER with force option requires both a timeout and target HOST and IP."
FAILOVER_TARGET_UNKNOWN = b"ERR FAILOVER target HOST and PORT is not a replica."
FAILOVER_TARGET_OFFLINE = b"ERR FAILOVER target replica is not online."
PSYNC_FAILOVER_ON_PRIMARY = b"ERR PSYNC FAILOVER can't be sent to a master."
PSYNC_FAILOVER_OTHER_ID = b"ERR PSYNC FAILOVER replid must match my replid."
RDB_ONLY_RANGE = b"ERR value is out of range, value must between 0 and 1"
RDB_FILTER_VALUES = b"ERR Missing rdb-filter-only values"


def replica_address_too_long(length: int) -> ReplyError:
    """REPLCONF ip-address."""
    return ReplyError(
        b"ERR REPLCONF ip-address provided by replica instance is too long: %d bytes" % length
    )


def unrecognized_replconf_option(option: bytes) -> ReplyError:
    """REPLCONF with an unknown option."""
    return ReplyError(b"ERR Unrecognized REPLCONF option: %b" % c_string(option))


def unsupported_rdb_filter(word: bytes) -> ReplyError:
    """REPLCONF rdb-filter-only."""
    return ReplyError(b"ERR Unsupported rdb-filter-only option: %b" % c_string(word))


def misconf_append_only_file(reason: bytes) -> ReplyError:
    """Writes are refused while the append-only file cannot be written."""
    return ReplyError(b"MISCONF Errors writing to the AOF file: %b" % reason)


def c_string(word: bytes) -> bytes:
    """Return a word as Redis quotes it in an error: a C string ends at its first NUL."""
    return word.partition(b"\0")[0]


def wrong_arity(fullname: bytes) -> ReplyError:
    """`fullname` in lower case, sub-commands as b"xgroup|create"."""
    return ReplyError(b"ERR wrong number of arguments for '%b' command" % fullname)


def unknown_command(argv: list[bytes]) -> ReplyError:
    """Redis quotes up to 128 bytes of the name and of the arguments together."""
    args = b""
    for arg in argv[1:]:
        if len(args) >= 128:
            break
        args += b"'%b' " % c_string(arg[: 128 - len(args)])
    return ReplyError(
        b"ERR unknown command '%b', with args beginning with: %b" % (c_string(argv[0][:128]), args)
    )


def unknown_subcommand(container: bytes, sub: bytes) -> ReplyError:
    """`container` in any case; the hint names it in upper case."""
    return ReplyError(
        b"ERR unknown subcommand '%b'. Try %b HELP." % (c_string(sub[:128]), container.upper())
    )


def subcommand_syntax(container: bytes, sub: bytes) -> ReplyError:
    """A known sub-command with options that do not fit."""
    return ReplyError(
        b"ERR unknown subcommand or wrong number of arguments for '%b'. Try %b HELP."
        % (c_string(sub[:128]), container.upper())
    )


def not_while_subscribed(command: bytes) -> ReplyError:
    """A RESP2 subscriber may do little else; `command` in lower case."""
    return ReplyError(
        b"ERR Can't execute '%b': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET"
        b" are allowed in this context" % command
    )


def invalid_expire_time(command: bytes) -> ReplyError:
    """`command` in lower case."""
    return ReplyError(b"ERR invalid expire time in '%b' command" % command)


# -- keys and strings --------------------------------------------------------------------------

LCS_NOT_STRINGS = b"ERR The specified keys must contain string values"
LCS_BOTH = b"ERR If you want both the length and indexes, please just use IDX."
LCS_TOO_LONG = b"ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
NOT_A_DIGEST = b"ERR must be exactly 16 hexadecimal characters"
CONDITION_NEEDS_STRING = b"ERR Key should be of string type if conditions are specified"
MSETEX_NUMKEYS = b"ERR invalid numkeys value"
MSETEX_PAIRS = b"ERR wrong number of key-value pairs"
ENX_WITHOUT_LIFETIME = b"ERR ENX flag requires an expiration"
INCREX_BOUNDS = b"ERR LBOUND can't be greater than UBOUND"
SORT_NOT_A_DOUBLE = b"ERR One or more scores can't be converted into double"
INVALID_CURSOR = b"ERR invalid cursor"
INVALID_FIRST_DB = b"ERR invalid first DB index"
INVALID_SECOND_DB = b"ERR invalid second DB index"
EXPIRE_NX_WITH_OTHERS = b"ERR NX and XX, GT or LT options at the same time are not compatible"
EXPIRE_GT_WITH_LT = b"ERR GT and LT options at the same time are not compatible"
LFU_POLICY = (
    b"ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when"
    b" switching between policies at runtime LRU and LFU data will take some time to adjust."
)
NO_LFU_POLICY = (
    b"ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that"
    b" when switching between policies at runtime LRU and LFU data will take some time to adjust."
)
STRING_TOO_LONG = b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"
OFFSET_OUT_OF_RANGE = b"ERR offset is out of range"
INCREMENT_OVERFLOW = b"ERR increment or decrement would overflow"
DECREMENT_OVERFLOW = b"ERR decrement would overflow"
INCREMENT_NOT_FINITE = b"ERR increment would produce NaN or Infinity"
OUT_OF_RANGE = b"ERR value is out of range"
NOT_FINITE = b"ERR value is NaN or Infinity"
BUSY_KEY = b"BUSYKEY Target key name already exists."
BAD_PAYLOAD = b"ERR DUMP payload version or checksum are wrong"
BAD_DATA_FORMAT = b"ERR Bad data format"
INVALID_TTL = b"ERR Invalid TTL value, must be >= 0"
INVALID_IDLETIME = b"ERR Invalid IDLETIME value, must be >= 0"
INVALID_FREQ = b"ERR Invalid FREQ value, must be >= 0 and <= 255"


def increx_integer(name: bytes) -> bytes:
    """A number of INCREX that should be an integer."""
    return b"ERR %b is not an integer or out of range" % name


def increx_float(name: bytes) -> bytes:
    """A number of INCREX BYFLOAT."""
    return b"ERR %b is not a valid float" % name


def unsupported_expire_option(option: bytes) -> ReplyError:
    """A word of EXPIRE that is none of NX, XX, GT, LT."""
    return ReplyError(b"ERR Unsupported option %b" % option)


# -- hashes --------------------------------------------------------------------------------------

HASH_VALUE_NOT_AN_INTEGER = b"ERR hash value is not an integer"
HASH_VALUE_NOT_A_FLOAT = b"ERR hash value is not a float"
NEGATIVE_EXPIRE_TIME = b"ERR invalid expire time, must be >= 0"
FIELDS_MISSING = b"ERR Mandatory argument FIELDS is missing or not at the right position"
FIELDS_TWICE = b"ERR FIELDS keyword specified multiple times"
NUMFIELDS_NOT_POSITIVE = b"ERR Parameter `numFields` should be greater than 0"
FIELD_COUNT_NOT_POSITIVE = b"ERR Number of fields must be a positive integer"
FIELD_COUNT_INVALID = b"ERR invalid number of fields"
FIELD_COUNT_MISMATCH = b"ERR The `numfields` parameter must match the number of arguments"
MISSING_EXPIRE_TIME = b"ERR missing expire time"
FNX_WITH_FXX = b"ERR Only one of FXX or FNX arguments can be specified"
DUPLICATE_FIELD = b"ERR duplicate field name in fieldset"
NO_SUCH_FIELDSET = b"ERR no such fieldset"
FIELDSET_MISMATCH = b"ERR value count does not match the fieldset"
NOVALUES_NOT_HSCAN = b"ERR NOVALUES option can only be used in HSCAN"


def two_lifetimes(bare_option: bytes) -> ReplyError:
    """HGETEX and HSETEX with two options about times; `bare_option` is the one without a time."""
    return ReplyError(
        b"ERR Only one of EX, PX, EXAT, PXAT or %b arguments can be specified" % bare_option
    )


def unknown_argument(word: bytes) -> ReplyError:
    """A word of HGETEX or HSETEX that is not an option."""
    return ReplyError(b"ERR unknown argument: %b" % c_string(word))


def out_of_range_between(minimum: int, maximum: int) -> ReplyError:
    """A count that is an integer, but not one of these."""
    return ReplyError(
        b"ERR value is out of range, value must between %d and %d" % (minimum, maximum)
    )


# -- connections -------------------------------------------------------------------------------

NO_PROTOCOL = b"NOPROTO unsupported protocol version"
PROTOCOL_NOT_AN_INTEGER = b"ERR Protocol version is not an integer or out of range"
HELLO_WITHOUT_AUTH = (
    b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO"
    b" <proto> AUTH <user> <pass> option can be used to authenticate the client and select the"
    b" RESP protocol version at the same time"
)
AUTH_WITHOUT_PASSWORD = (
    b"ERR AUTH <password> called without any password configured for the default user. Are you"
    b" sure your configuration is correct?"
)
NOT_A_32_BIT_INTEGER = b"ERR value is out of range, value must between -2147483648 and 2147483647"
CLIENT_NAME_CHARACTERS = b"ERR Client names cannot contain spaces, newlines or special characters."
CLIENT_ID_NOT_POSITIVE = b"ERR client-id should be greater than 0"
INVALID_CLIENT_ID = b"ERR Invalid client ID"
NO_SUCH_CLIENT = b"ERR No such client"
MAXAGE_NOT_AN_INTEGER = b"ERR maxage is not an integer or out of range"
MAXAGE_NOT_POSITIVE = b"ERR maxage should be greater than 0"
PAUSE_MODE = b"ERR CLIENT PAUSE mode must be WRITE or ALL"
UNBLOCK_REASON = b"ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"


def hello_option(option: bytes) -> ReplyError:
    """A word of HELLO that is not an option, or an option without its arguments."""
    return ReplyError(b"ERR Syntax error in HELLO option '%b'" % option)


def unknown_client_type(name: bytes) -> ReplyError:
    """TYPE of CLIENT LIST and CLIENT KILL."""
    return ReplyError(b"ERR Unknown client type '%b'" % name)


def no_such_user(name: bytes) -> ReplyError:
    """USER of CLIENT KILL."""
    return ReplyError(b"ERR No such user '%b'" % name)


def unrecognized_client_attribute(option: bytes) -> ReplyError:
    """CLIENT SETINFO with an attribute other than LIB-NAME and LIB-VER."""
    return ReplyError(b"ERR Unrecognized option '%b'" % option)


def client_attribute_characters(option: bytes) -> ReplyError:
    """CLIENT SETINFO with a value that would break a line of CLIENT LIST."""
    return ReplyError(b"ERR %b cannot contain spaces, newlines or special characters." % option)


# -- messages ----------------------------------------------------------------------------------

SSUBSCRIBE_DENIED = b"ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"

# -- client-side caching -----------------------------------------------------------------------

CACHING_WITHOUT_TRACKING = (
    b"ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or"
    b" OPTOUT mode enabled"
)
CACHING_YES_WITHOUT_OPTIN = (
    b"ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
)
CACHING_NO_WITHOUT_OPTOUT = (
    b"ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
)
REDIRECT_TWICE = b"ERR A client can only redirect to a single other client"
REDIRECT_TO_NOBODY = b"ERR The client ID you want redirect to does not exist"
PREFIX_WITHOUT_BCAST = b"ERR PREFIX option requires BCAST mode to be enabled"
SWITCH_BCAST = (
    b"ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then"
    b" re-enabling it with a different mode."
)
SWITCH_OPT = (
    b"ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then"
    b" re-enabling it with a different mode."
)
OPT_WITH_BCAST = b"ERR OPTIN and OPTOUT are not compatible with BCAST"
OPTIN_WITH_OPTOUT = b"ERR You can't specify both OPTIN mode and OPTOUT mode"


def prefix_overlaps_existing(prefix: bytes, existing: bytes) -> ReplyError:
    """CLIENT TRACKING ... PREFIX that covers, or is covered by, one of an earlier call."""
    return ReplyError(
        b"ERR Prefix '%b' overlaps with an existing prefix '%b'. Prefixes for a single client"
        b" must not overlap." % (prefix, existing)
    )


def prefix_overlaps_provided(prefix: bytes, provided: bytes) -> ReplyError:
    """CLIENT TRACKING with two PREFIX options of which one covers the other."""
    return ReplyError(
        b"ERR Prefix '%b' overlaps with another provided prefix '%b'. Prefixes for a single"
        b" client must not overlap." % (prefix, provided)
    )


# -- transactions ------------------------------------------------------------------------------

NESTED_MULTI = b"ERR MULTI calls can not be nested"
EXEC_WITHOUT_MULTI = b"ERR EXEC without MULTI"
DISCARD_WITHOUT_MULTI = b"ERR DISCARD without MULTI"
WATCH_INSIDE_MULTI = b"ERR WATCH inside MULTI is not allowed"


def exec_refused(reason: bytes) -> ReplyError:
    """EXEC itself may not run; `reason` with its code. As in Redis, only ERR is left out."""
    reason = reason.removeprefix(b"ERR ")
    return ReplyError(b"EXECABORT Transaction discarded because of: %b" % reason)


# -- bits ------------------------------------------------------------------------------------

BIT_OFFSET = b"ERR bit offset is not an integer or out of range"
NOT_A_BIT = b"ERR bit is not an integer or out of range"
BIT_ARGUMENT = b"ERR The bit argument must be 1 or 0."
BITOP_NOT = b"ERR BITOP NOT must be called with a single source key."
BITFIELD_TYPE = (
    b"ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but"
    b" i64 is."
)
BITFIELD_OVERFLOW = b"ERR Invalid OVERFLOW type specified"
BITFIELD_RO_ONLY_GETS = b"ERR BITFIELD_RO only supports the GET subcommand"


def too_few_for_bitop(operation: bytes) -> ReplyError:
    """BITOP of an operation that takes its first string apart from the others."""
    return ReplyError(b"ERR BITOP %b must be called with at least two source keys." % operation)


# -- HyperLogLogs --------------------------------------------------------------------------

NOT_A_HYPERLOGLOG = b"WRONGTYPE Key is not a valid HyperLogLog string value."
CORRUPT_HYPERLOGLOG = b"INVALIDOBJ Corrupted HLL object detected"
NO_SUCH_HYPERLOGLOG = b"ERR The specified key does not exist"
HYPERLOGLOG_NOT_SPARSE = b"ERR HLL encoding is not sparse"


def unknown_pfdebug(sub: bytes) -> ReplyError:
    """PFDEBUG with a first word that it does not know."""
    return ReplyError(b"ERR Unknown PFDEBUG subcommand '%b'" % c_string(sub))


# -- lists, and what pops from several keys ------------------------------------------------------

NOT_POSITIVE = b"ERR value is out of range, must be positive"
INDEX_OUT_OF_RANGE = b"ERR index out of range"
NUMKEYS_NOT_POSITIVE = b"ERR numkeys should be greater than 0"
COUNT_NOT_GREATER_THAN_0 = b"ERR count should be greater than 0"
TIMEOUT_NOT_A_FLOAT = b"ERR timeout is not a float or out of range"
LPOS_RANK_ZERO = (
    b"ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use"
    b" negative to start from the end of the list"
)
LPOS_RANK_RANGE = (
    b"ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
)
LPOS_COUNT_NEGATIVE = b"ERR COUNT can't be negative"
LPOS_MAXLEN_NEGATIVE = b"ERR MAXLEN can't be negative"

# -- sets and sorted sets ----------------------------------------------------------------------

RANDOM_COUNT_OUT_OF_RANGE = (
    b"ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
)
RANDOM_COUNT_TOO_LARGE = b"ERR value is out of range"
NUMKEYS_TOO_LARGE = b"ERR Number of keys can't be greater than number of args"
LIMIT_NEGATIVE = b"ERR LIMIT can't be negative"
ZADD_NX_WITH_XX = b"ERR XX and NX options at the same time are not compatible"
ZADD_GT_LT_NX = b"ERR GT, LT, and/or NX options at the same time are not compatible"
ZADD_INCR_SEVERAL = b"ERR INCR option supports a single increment-element pair"
SCORE_IS_NAN = b"ERR resulting score is not a number (NaN)"
WEIGHT_NOT_A_FLOAT = b"ERR weight value is not a float"
BOUNDS_NOT_FLOATS = b"ERR min or max is not a float"
BOUNDS_NOT_STRINGS = b"ERR min or max not valid string range item"
LIMIT_BY_RANK = (
    b"ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
)
WITHSCORES_BY_LEX = b"ERR syntax error, WITHSCORES not supported in combination with BYLEX"


UNSUPPORTED_UNIT = b"ERR unsupported unit provided. please use M, KM, FT, MI"
RADIUS_NOT_A_NUMBER = b"ERR need numeric radius"
RADIUS_NEGATIVE = b"ERR radius cannot be negative"
WIDTH_NOT_A_NUMBER = b"ERR need numeric width"
HEIGHT_NOT_A_NUMBER = b"ERR need numeric height"
BOX_NEGATIVE = b"ERR height or width cannot be negative"
MEMBER_WITHOUT_PLACE = b"ERR could not decode requested zset member"
ANY_WITHOUT_COUNT = b"ERR the ANY argument requires COUNT argument"


def invalid_place(longitude: float, latitude: float) -> ReplyError:
    """A longitude or latitude out of range."""
    return ReplyError(b"ERR invalid longitude,latitude pair %f,%f" % (longitude, latitude))


def store_with_details(what: bytes) -> ReplyError:
    """STORE of GEORADIUS, or GEOSEARCHSTORE, with options that only a reply can follow."""
    return ReplyError(
        b"ERR %b is not compatible with WITHDIST, WITHHASH and WITHCOORD options" % what
    )


def exactly_one_of(choices: bytes, command: bytes) -> ReplyError:
    """GEOSEARCH without a center or a shape; `command` as it was sent."""
    return ReplyError(b"ERR exactly one of %b can be specified for %b" % (choices, command))


def no_input_key(command: bytes) -> ReplyError:
    """ZUNION and related commands with a number of keys below one; `command` in lower case."""
    return ReplyError(b"ERR at least 1 input key is needed for '%b' command" % command)


# -- streams -----------------------------------------------------------------------------------

INVALID_STREAM_ID = b"ERR Invalid stream ID specified as stream command argument"
XADD_ID_ZERO = b"ERR The ID specified in XADD must be greater than 0-0"
XADD_ID_SMALL = b"ERR The ID specified in XADD is equal or smaller than the target stream top item"
XADD_EXHAUSTED = b"ERR The stream has exhausted the last possible ID, unable to add more items"
XADD_TOO_LARGE = b"ERR Elements are too large to be stored"
TRIM_BOTH = b"ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
TRIM_MAXLEN_NEGATIVE = b"ERR The MAXLEN argument must be >= 0."
TRIM_LIMIT_NEGATIVE = b"ERR The LIMIT argument must be >= 0."
TRIM_LIMIT_WITHOUT_STRATEGY = (
    b"ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
)
TRIM_LIMIT_WITHOUT_APPROX = b"ERR syntax error, LIMIT cannot be used without the special ~ option"
XTRIM_WITHOUT_STRATEGY = b"ERR syntax error, XTRIM must be called with a trimming strategy"
RANGE_INVALID_START = b"ERR invalid start ID for the interval"
RANGE_INVALID_END = b"ERR invalid end ID for the interval"
XSETID_ADDED_NEGATIVE = b"ERR entries_added must be positive"
XSETID_BELOW_GIVEN_DELETED = (
    b"ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
)
XSETID_BELOW_DELETED = (
    b"ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
)
XSETID_BELOW_TOP = b"ERR The ID specified in XSETID is smaller than the target stream top item"
XSETID_ADDED_BELOW_LENGTH = (
    b"ERR The entries_added specified in XSETID is smaller than the target stream length"
)
XREAD_UNBALANCED = (
    b"ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$'"
    b" must be specified."
)
XREADGROUP_UNBALANCED = (
    b"ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>'"
    b" must be specified."
)
XREAD_WITH_GROUP = (
    b"ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
)
XREAD_WITH_NOACK = (
    b"ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
)
XREAD_WITH_CLAIM = (
    b"ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead."
)
XREAD_WITH_NEW = (
    b"ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group>"
    b" <consumer> option."
)
XREADGROUP_WITHOUT_GROUP = b"ERR Missing GROUP option for XREADGROUP"
CLAIM_NOT_AN_INTEGER = b"ERR min-idle-time is not an integer or out of range"
CLAIM_NEGATIVE = b"ERR min-idle-time must be a positive integer"
MAXCOUNT_BELOW_COUNT = b"ERR MAXCOUNT must be greater than or equal to COUNT"
TIMEOUT_NOT_AN_INTEGER = b"ERR timeout is not an integer or out of range"
TIMEOUT_NEGATIVE = b"ERR timeout is negative"
TIMEOUT_OUT_OF_RANGE = b"ERR timeout is out of range"
BUSYGROUP = b"BUSYGROUP Consumer Group name already exists"
XGROUP_NO_KEY = (
    b"ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want"
    b" to use the MKSTREAM option to create an empty stream automatically."
)
KEEPPENDING_WITH_TRANSFER = b"ERR KEEPPENDING and TRANSFER at the same time are not compatible"
TRANSFER_TO_ITSELF = b"ERR TRANSFER requires another consumer"
ENTRIESREAD_NEGATIVE = b"ERR value for ENTRIESREAD must be positive or -1"
COUNT_NOT_POSITIVE = b"ERR COUNT must be > 0"
IDS_NOT_POSITIVE = b"ERR Number of IDs must be a positive integer"
IDS_NUMBER_MISMATCH = b"ERR The `numids` parameter must match the number of arguments"
IDS_REQUIRED = b"ERR IDS option is required"
IDMP_WITH_ID = b"ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs"
IDMP_TWICE = b"ERR syntax error, IDMP/IDMPAUTO specified multiple times"
IDMP_WITHOUT_IID = b"ERR syntax error, IDMP requires a non-empty idempotent ID"
CONFIG_NEEDS_ACK_WAIT = b"ERR BACKOFF, MAX-DELIVERIES and KEY-FIELD require ACK-WAIT"
CONFIG_DEAD_LETTER_ALONE = b"ERR MAX-DELIVERIES and DEAD-LETTER require each other"
CONFIG_DEAD_LETTER_IS_SELF = b"ERR DEAD-LETTER can't be the stream itself"
CONFIG_EXPIRY_TOO_SHORT = b"ERR CONSUMER-EXPIRY must be greater than ACK-WAIT"
CONFIG_KEY_CHANGE = b"ERR KEY-FIELD can be changed only while the group has no pending entries"
CONFIG_KEY_TOO_LONG = b"ERR KEY-FIELD must be at most 512 bytes"
CONFIG_NEEDS_KEY_FIELD = b"ERR KEY-LOOKAHEAD and KEY-LOOKAHEAD-KEY require KEY-FIELD"
CONFIG_MANY_PAUSES = b"ERR BACKOFF takes between 1 and 32 waits"
IDMP_DURATION_RANGE = b"ERR IDMP-DURATION must be between 1 and 86400 seconds"
IDMP_MAXSIZE_RANGE = b"ERR IDMP-MAXSIZE must be between 1 and 10000 entries"
XCFGSET_NOTHING = b"ERR At least one parameter must be specified"
ACK_JOURNAL_MAXLEN_RANGE = b"ERR ACK-JOURNAL-MAXLEN must be at least 1 entry"
ACK_JOURNAL_IS_OFF = b"ERR ACK-JOURNAL-MAXLEN needs ACK-JOURNAL"
ACK_JOURNAL_IS_SELF = b"ERR ACK-JOURNAL must name another key"
RETAIN_HARD_BYTES_LOW = b"ERR RETAIN-HARD-BYTES must not be below RETAIN-BYTES"
RETAIN_MS_NEEDS_TIMES = b"ERR RETAIN-MS requires IDs that are timestamps"
GROUP_IDLE_WITHOUT_ACKED = b"ERR GROUP-MAX-IDLE requires RETAIN-REFS ACKED"
ACK_JOURNAL_IN_USE = b"ERR ACK-JOURNAL names a stream that holds other entries"
RECORD_WITHOUT_PID = b"ERR producer ID must be non-empty"
RECORD_WITHOUT_IID = b"ERR idempotent ID must be non-empty"
RECORD_NO_ENTRY = b"ERR No such message in stream"
RECORD_OTHER_ENTRY = b"ERR IID already exists for this producer with a different stream ID"
DELAY_WITH_AT = b"ERR syntax error, DELAY and AT options at the same time are not compatible"
DELAY_WITH_ID = b"ERR syntax error, DELAY/AT can be used only with auto-generated IDs"
DELAY_WITH_TRIM = b"ERR syntax error, DELAY/AT can't be combined with trimming"
INVALID_TICKET = b"ERR Invalid ticket specified as stream command argument"
XNACK_MODE = b"ERR mode must be SILENT, FAIL, or FATAL"
XNACK_WITHOUT_IDS = b"ERR syntax error, expected IDS keyword"
XNACK_NUMBER = b"ERR numids must be a positive integer"
XNACK_NUMBER_MISMATCH = b"ERR number of IDs doesn't match numids"
XNACK_DELAY = b"ERR Invalid DELAY value, must be >= 0"
XNACK_DELAY_FATAL = b"ERR DELAY is not allowed with FATAL"
XNACK_REASON_LENGTH = b"ERR REASON must be at most 512 bytes"
XNACK_RETRYCOUNT = b"ERR Invalid RETRYCOUNT value, must be >= 0"


def not_positive(option: bytes) -> ReplyError:
    """MAXCOUNT or MAXSIZE with something else than a number above zero."""
    return ReplyError(b"ERR %b must be a positive integer" % option)


def idmp_without_pid(option: bytes) -> ReplyError:
    """IDMP or IDMPAUTO with an empty producer ID."""
    return ReplyError(b"ERR syntax error, %b requires a non-empty producer ID" % option)


def out_of_bounds(option: bytes, least: int, greatest: int) -> ReplyError:
    """An option of Rillway's own whose number is too small or too large."""
    return ReplyError(b"ERR %b must be between %d and %d" % (option, least, greatest))


def specified_twice(parameter: bytes) -> ReplyError:
    """XCFGSET with the same parameter more than once."""
    return ReplyError(b"ERR %b specified multiple times" % parameter)


def invalid_delay(option: bytes) -> ReplyError:
    """DELAY or AT of XADD with something else than a time in ms."""
    return ReplyError(b"ERR Invalid %b value, must be >= 0" % option)


def unrecognized_xnack_option(option: bytes) -> ReplyError:
    """A word after the IDs of XNACK that is not an option."""
    return ReplyError(b"ERR Unrecognized XNACK option '%b'" % c_string(option))


def xreadgroup_special_id(special: bytes) -> ReplyError:
    """`$` or `+` where XREADGROUP wants `>` or an ID."""
    return ReplyError(
        b"ERR The %b ID is meaningless in the context of XREADGROUP: you want to read the history"
        b" of this consumer by specifying a proper ID, or use the > ID to get new messages. The"
        b" %b ID would just return an empty result set." % (special, special)
    )


def no_group_for_read(key: bytes, group: bytes) -> ReplyError:
    """XREADGROUP without the key or the group."""
    return ReplyError(
        b"NOGROUP No such key '%b' or consumer group '%b' in XREADGROUP with GROUP option"
        % (c_string(key), c_string(group))
    )


def no_key_or_group(key: bytes, group: bytes) -> ReplyError:
    """XPENDING, XCLAIM, XAUTOCLAIM, XNACK without the key or the group."""
    return ReplyError(
        b"NOGROUP No such key '%b' or consumer group '%b'" % (c_string(key), c_string(group))
    )


def no_group_for_key(key: bytes, group: bytes) -> ReplyError:
    """XGROUP and XINFO CONSUMERS without the group."""
    return ReplyError(
        b"NOGROUP No such consumer group '%b' for key name '%b'" % (c_string(group), c_string(key))
    )


def damaged_stream(key: bytes | None, damage: bytes) -> ReplyError:
    """A node of a stream cannot be read. Rillway's own; `key` is None if it is not known."""
    name = b"a stream" if key is None else b"stream '%b'" % c_string(key)
    return ReplyError(b"ERR %b is damaged: %b" % (name, damage))


def invalid_claim_argument(what: bytes, command: bytes) -> ReplyError:
    """A number of XCLAIM or XAUTOCLAIM that is none, e.g. what=b"min-idle-time"."""
    return ReplyError(b"ERR Invalid %b argument for %b" % (what, command))


def unrecognized_xclaim_option(option: bytes) -> ReplyError:
    """A word of XCLAIM that is neither an ID nor an option."""
    return ReplyError(b"ERR Unrecognized XCLAIM option '%b'" % c_string(option))


def newer_than_replicas(command: bytes, version: str) -> ReplyError:
    """A command that the attached replicas cannot follow; Rillway's own."""
    return ReplyError(
        b"ERR '%b' is newer than a replica, which counts as Redis %b (repl-snapshot-version)"
        % (command, version.encode())
    )


# -- cluster -----------------------------------------------------------------------------------

CLUSTER_DISABLED = b"ERR This instance has cluster support disabled"
CLUSTER_DOWN = b"CLUSTERDOWN The cluster is down"
CLUSTER_READS_ONLY = b"CLUSTERDOWN The cluster is down and only accepts read commands"
SLOT_NOT_SERVED = b"CLUSTERDOWN Hash slot not served"
CROSS_SLOT = b"CROSSSLOT Keys in request don't hash to the same slot"
TRY_AGAIN = b"TRYAGAIN Multiple keys request during rehashing of slot"
INVALID_SLOT = b"ERR Invalid slot"
SLOT_OUT_OF_RANGE = b"ERR Invalid or out of range slot"
INVALID_SLOT_OR_COUNT = b"ERR Invalid slot or number of keys"
SETSLOT_ACTION = b"ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP"
SELECT_IN_CLUSTER = b"ERR SELECT is not allowed in cluster mode"
MOVE_IN_CLUSTER = b"ERR MOVE is not allowed in cluster mode"
SWAPDB_IN_CLUSTER = b"ERR SWAPDB is not allowed in cluster mode"
REPLICAOF_IN_CLUSTER = b"ERR REPLICAOF not allowed in cluster mode."
FAILOVER_IN_CLUSTER = (
    b"ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead."
)


MIGRATE_KEYS = (
    b"ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
)
MIGRATE_NOT_HERE = b"ERR MIGRATE cannot run in a transaction or a script"


def redirection(kind: bytes, slot: int, endpoint: str, port: int) -> RoutingError:
    """`kind`: MOVED, or ASK for the next request alone. An empty endpoint: the host is the same."""
    return RoutingError(b"%b %d %b:%d" % (kind, slot, endpoint.encode(), port))


def sort_option_in_cluster(option: bytes) -> ReplyError:
    """`option`: BY or GET. Source: Redis 8.2."""
    return ReplyError(
        b"ERR %b option of SORT denied in Cluster mode when keys formed by the pattern may be in"
        b" different slots." % option
    )

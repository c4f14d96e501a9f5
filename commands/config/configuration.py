"""Configuration directives: names, types, defaults and bounds, as redis.conf and CONFIG know them.

`Configuration` is a plain object with one attribute per directive (`stream-node-max-entries` is
`config.stream_node_max_entries`), so that reading one costs an attribute access. To add a
directive: one line in `Configuration`. What a value looks like is in
commands/config/directive_kinds.py; directives that are known but whose feature is missing are in
commands/config/absent_features.py. The server reads files (server/config_file.py) and applies
changes (`Host.apply_config`).

Source: redis.conf of Redis 7.2 to 8.10, and CONFIG GET of Valkey 9.1. A name that Valkey gives to a
directive of Redis is an alias, one of a feature that only Valkey has is inert.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from commands.acl.rules import RuleError, joined
from commands.config import absent_features
from commands.config.directive_kinds import (
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    UINT64_MAX,
    AuditEvents,
    Boolean,
    Choice,
    Choices,
    ClampedInteger,
    Duration,
    EventClasses,
    FileName,
    Integer,
    Kind,
    Memory,
    MemoryOrPercentage,
    NodeField,
    Octal,
    OutputLimits,
    OutputLimitTable,
    PeerNames,
    Percentiles,
    PrimaryAddress,
    SavePoint,
    SavePoints,
    Scores,
    ShutdownOptions,
    Synonyms,
    Text,
    UserLimitsByName,
    UserLimitTable,
    Words,
)
from protocol.records import entity
from storage.redis_format.encoding_limits import EncodingLimits

# No directives with a value: one declares a user, one gives a command another name.
USER, RENAME_COMMAND = "user", "rename-command"
SYSLOG_FACILITIES = Choice("user", *(f"local{number}" for number in range(8)))
EVICTION_POLICIES = Choice(
    "volatile-lru", "volatile-lfu", "volatile-lrm", "volatile-random", "volatile-ttl",
    "allkeys-lru", "allkeys-lfu", "allkeys-lrm", "allkeys-random", "noeviction",
)  # fmt: skip
DANGEROUS_COMMANDS = Choice("no", "yes", "local")  # who may use it: no client, all, local ones


def directive(
    kind: Kind,
    default: str,
    *,
    immutable: bool = False,
    protected: bool = False,
    sensitive: bool = False,
    alias: str = "",
    inert: bool = False,
    hidden: bool = False,
) -> Any:
    """A directive as an attribute of Configuration; `default` as a file would give it.

    `immutable`: can be set only at start. `protected`: CONFIG SET needs enable-protected-configs.
    `sensitive`: the slow log does not show the value. `alias`: an older name that Redis still
    accepts. `inert`: any value is kept and shown, and has no effect. `hidden`: CONFIG GET shows it
    by its whole name only.
    """
    value = kind.parse(default.split() if kind.takes_several_words else [default])
    return Directive(kind, value, immutable, protected, sensitive, inert, hidden, alias)


@entity
class Directive:
    """A directive's kind, default and flags; its class gives it the name."""

    kind: Kind
    default: Any
    immutable: bool
    protected: bool
    sensitive: bool
    inert: bool
    hidden: bool
    alias: str
    name: str = ""  # with hyphens, as in a file
    attribute: str = ""  # of Configuration

    def __set_name__(self, _: type, attribute: str) -> None:
        self.name, self.attribute = attribute.replace("_", "-"), attribute


# No dataclass: that would take 3 ms of a start.
class Configuration(EncodingLimits):
    """The values in force, one attribute per directive.

    It also serves as the `EncodingLimits` of storage, so that CONFIG SET takes effect there at
    once.
    """

    # network
    port: int = directive(Integer(0, 65535), "6379")
    tls_port: int = directive(Integer(0, 65535), "0")
    bind: list[str] = directive(Words(), "127.0.0.1 -::1")
    unixsocket: str = directive(Text(), "", immutable=True)
    unixsocketperm: str = directive(Octal(), "0", immutable=True)
    unixsocketgroup: str = directive(Text(), "", immutable=True)
    tcp_backlog: int = directive(Integer(0, INT32_MAX), "511", immutable=True)
    tcp_keepalive: int = directive(Integer(0, INT32_MAX), "300")
    timeout: int = directive(Integer(0, INT32_MAX), "0")
    protected_mode: bool = directive(Boolean(), "yes")
    maxclients: int = directive(Integer(1, 2**32 - 1), "10000")
    maxmemory_clients: int = directive(MemoryOrPercentage(0, INT64_MAX), "0")
    requirepass: str = directive(Text(), "", sensitive=True)
    # encryption; port 0 beside a TLS port: no plain connections
    tls_cert_file: str = directive(Text(), "")
    tls_key_file: str = directive(Text(), "")
    tls_key_file_pass: str = directive(Text(), "", sensitive=True)
    tls_client_cert_file: str = directive(Text(), "")
    tls_client_key_file: str = directive(Text(), "")
    tls_client_key_file_pass: str = directive(Text(), "", sensitive=True)
    tls_ca_cert_file: str = directive(Text(), "")
    tls_ca_cert_dir: str = directive(Text(), "")
    tls_auth_clients: str = directive(Choice("no", "yes", "optional"), "yes")
    tls_auth_clients_user: str = directive(Choice("off", "CN", "URI"), "off")
    tls_expected_peer_name: str = directive(PeerNames(), "")
    tls_replication: bool = directive(Boolean(), "no")
    tls_cluster: bool = directive(Boolean(), "no")
    tls_protocols: str = directive(Text(), "")
    tls_ciphers: str = directive(Text(), "")
    tls_prefer_server_ciphers: bool = directive(Boolean(), "no")
    tls_dh_params_file: str = directive(Text(), "")
    # As in Valkey 9.1: seconds between looks at the files; 0: only CONFIG SET reads them again.
    tls_auto_reload_interval: int = directive(Integer(0, INT32_MAX), "0")
    # users
    aclfile: str = directive(Text(), "", immutable=True)
    acllog_max_len: int = directive(Integer(0, INT64_MAX), "128")
    acl_pubsub_default: str = directive(Choice("allchannels", "resetchannels"), "resetchannels")
    # Rillway's own: limits by user, and who did what (server/audit_log.py)
    user_limit: UserLimitsByName = directive(UserLimitTable(), "")
    audit_log: str = directive(Text(), "", immutable=True)
    audit_events: str = directive(AuditEvents(), "")
    audit_required: bool = directive(Boolean(), "no")
    # cluster
    cluster_enabled: bool = directive(Boolean(), "no", immutable=True)
    cluster_allow_pubsubshard_when_down: bool = directive(Boolean(), "yes")
    cluster_allow_reads_when_down: bool = directive(Boolean(), "no")
    cluster_allow_replica_migration: bool = directive(Boolean(), "yes")
    cluster_require_full_coverage: bool = directive(Boolean(), "yes")
    cluster_replica_no_failover: bool = directive(
        Boolean(), "no", alias="cluster-slave-no-failover"
    )
    cluster_replica_validity_factor: int = directive(
        Integer(0, INT32_MAX), "10", alias="cluster-slave-validity-factor"
    )
    cluster_announce_bus_port: int = directive(Integer(0, 65535), "0")
    cluster_announce_port: int = directive(Integer(0, 65535), "0")
    cluster_announce_tls_port: int = directive(Integer(0, 65535), "0")
    cluster_announce_hostname: str = directive(
        NodeField(
            "[A-Za-z0-9.-]",
            255,
            "Hostnames may only contain alphanumeric characters, hyphens or dots",
            "Hostnames must be less than 256 characters",
        ),
        "",
    )
    cluster_announce_human_nodename: str = directive(
        NodeField(
            r"[^\s,=!#$%&()*+:;<>?@\[\]^{|}~]",
            1023,
            "Announced human node name contained invalid character",
            "the name must be less than 1024 characters",
        ),
        "",
    )
    cluster_announce_ip: str = directive(
        NodeField(
            r"[^\s,@]",
            45,
            "the address must not have blanks, commas or @",
            "the address must be less than 46 characters",
        ),
        "",
    )
    cluster_config_file: str = directive(Text(), "nodes.conf", immutable=True)
    cluster_link_sendbuf_limit: int = directive(Memory(0, INT64_MAX), "0")
    cluster_migration_barrier: int = directive(Integer(0, INT32_MAX), "1")
    cluster_node_timeout: int = directive(Integer(0, INT64_MAX), "15000")
    cluster_slot_stats_enabled: str = directive(Choices(2, "no", "yes", "cpu", "net", "mem"), "no")
    cluster_port: int = directive(Integer(0, 65535), "0", immutable=True)
    cluster_preferred_endpoint_type: str = directive(
        Choice("ip", "hostname", "unknown-endpoint"), "ip"
    )
    # general
    pidfile: str = directive(Text(), "", immutable=True)
    databases: int = directive(Integer(1, INT32_MAX), "16", immutable=True)
    loglevel: str = directive(Choice("debug", "verbose", "notice", "warning", "nothing"), "notice")
    # Rillway's own: Redis's lines, or an object of JSON on each line. Valkey's words are taken.
    log_format: str = directive(Synonyms("text", "json", "logfmt", legacy="text"), "text")
    logfile: str = directive(Text(), "", immutable=True)
    syslog_enabled: bool = directive(Boolean(), "no", immutable=True)
    syslog_ident: str = directive(Text(), "redis", immutable=True)
    syslog_facility: str = directive(SYSLOG_FACILITIES, "local0", immutable=True)
    hide_user_data_from_log: bool = directive(Boolean(), "no")
    dir: str = directive(Text(), ".", protected=True)
    hz: int = directive(ClampedInteger(1, 500), "10")
    enable_protected_configs: str = directive(DANGEROUS_COMMANDS, "no", immutable=True)
    enable_debug_command: str = directive(DANGEROUS_COMMANDS, "no", immutable=True)
    daemonize: bool = directive(Boolean(), "no", immutable=True)
    supervised: str = directive(Choice("upstart", "systemd", "auto", "no"), "no", immutable=True)
    # limits
    proto_max_bulk_len: int = directive(Memory(1024**2, INT64_MAX), "512mb")
    client_query_buffer_limit: int = directive(Memory(1024**2, INT64_MAX), "1gb")
    client_output_buffer_limit: OutputLimits = directive(
        OutputLimitTable(), "normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60"
    )
    busy_reply_threshold: int = directive(Integer(0, INT64_MAX), "5000", alias="lua-time-limit")
    maxmemory: int = directive(Memory(0, UINT64_MAX), "0")
    maxmemory_policy: str = directive(EVICTION_POLICIES, "noeviction")
    maxmemory_samples: int = directive(Integer(1, 64), "5")
    maxmemory_eviction_tenacity: int = directive(Integer(0, 100), "10")
    lfu_log_factor: int = directive(Integer(0, INT32_MAX), "10")
    lfu_decay_time: int = directive(Integer(0, INT32_MAX), "1")
    lazyfree_lazy_eviction: bool = directive(Boolean(), "no")
    # snapshots
    save: tuple[SavePoint, ...] = directive(SavePoints(), "3600 1 300 100 60 10000")
    dbfilename: str = directive(FileName("dbfilename", "filename"), "dump.rdb", protected=True)
    rdbcompression: bool = directive(Boolean(), "yes")
    rdbchecksum: bool = directive(Boolean(), "yes", immutable=True)
    rdb_save_incremental_fsync: bool = directive(Boolean(), "yes")
    stop_writes_on_bgsave_error: bool = directive(Boolean(), "yes")
    sanitize_dump_payload: str = directive(Choice("no", "yes", "clients"), "no")
    # Rillway's own: the form in which values are written, by the type of streams or for Valkey 9,
    # and whether a snapshot may be loaded in part
    rdb_stream_type: str = directive(Choice("auto", "15", "19", "21", "valkey"), "auto")
    rdb_skip_unsupported: bool = directive(Boolean(), "no")
    # For tests: the microseconds that a save or a load waits for each key; -n: 1 for n keys.
    rdb_key_save_delay: int = directive(Integer(INT32_MIN, INT32_MAX), "0", hidden=True)
    key_load_delay: int = directive(Integer(INT32_MIN, INT32_MAX), "0", hidden=True)
    loading_process_events_interval_bytes: int = directive(
        Integer(1024, INT32_MAX), "2097152", hidden=True
    )
    # the append-only file
    appendonly: bool = directive(Boolean(), "no")
    appendfilename: str = directive(
        FileName("appendfilename", "filename"), "appendonly.aof", immutable=True
    )
    appenddirname: str = directive(
        FileName("appenddirname", "dirname"), "appendonlydir", immutable=True
    )
    appendfsync: str = directive(Choice("everysec", "always", "no"), "everysec")
    no_appendfsync_on_rewrite: bool = directive(Boolean(), "no")
    auto_aof_rewrite_percentage: int = directive(Integer(0, INT32_MAX), "100")
    auto_aof_rewrite_min_size: int = directive(Memory(0, INT64_MAX), "64mb")
    aof_load_truncated: bool = directive(Boolean(), "yes")
    aof_load_corrupt_tail_max_size: int = directive(Memory(0, INT64_MAX), "0")
    # Rillway's own: whether a start continues without writes that cannot be replayed
    aof_skip_refused_writes: bool = directive(Boolean(), "no")
    aof_use_rdb_preamble: bool = directive(Boolean(), "yes")
    aof_timestamp_enabled: bool = directive(Boolean(), "no")
    # Rillway's own: how long files are kept that a rewrite has replaced, in ms
    aof_keep_increments: int = directive(Duration(), "0")
    aof_rewrite_incremental_fsync: bool = directive(Boolean(), "yes")
    # ending
    shutdown_on_sigint: frozenset[str] = directive(ShutdownOptions(), "default")
    shutdown_on_sigterm: frozenset[str] = directive(ShutdownOptions(), "default")
    shutdown_timeout: int = directive(Integer(0, INT32_MAX), "10")
    # replication: a primary
    repl_backlog_size: int = directive(Memory(1, INT64_MAX), "1mb")
    repl_backlog_ttl: int = directive(Integer(0, INT64_MAX), "3600")
    repl_diskless_sync: bool = directive(Boolean(), "yes")
    repl_diskless_sync_delay: int = directive(Integer(0, INT32_MAX), "5")
    repl_diskless_sync_max_replicas: int = directive(Integer(0, INT32_MAX), "0")
    repl_disable_tcp_nodelay: bool = directive(Boolean(), "no")
    repl_ping_replica_period: int = directive(
        Integer(1, INT32_MAX), "10", alias="repl-ping-slave-period"
    )
    repl_timeout: int = directive(Integer(1, INT32_MAX), "60")
    min_replicas_to_write: int = directive(Integer(0, INT32_MAX), "0", alias="min-slaves-to-write")
    min_replicas_max_lag: int = directive(Integer(0, INT32_MAX), "10", alias="min-slaves-max-lag")
    # Rillway's own: the Redis version that snapshots for other replicas than Rillway's are written
    # for
    repl_snapshot_version: str = directive(Choice("7.0", "7.2", "auto"), "7.0")
    # replication: a replica
    replicaof: tuple[str, int] | None = directive(
        PrimaryAddress(), "", immutable=True, alias="slaveof"
    )
    masterauth: str = directive(Text(), "", sensitive=True, alias="primaryauth")
    masteruser: str = directive(Text(), "", sensitive=True, alias="primaryuser")
    rdb_del_sync_files: bool = directive(Boolean(), "no")
    repl_diskless_load: str = directive(Choice("disabled", "on-empty-db", "swapdb"), "disabled")
    replica_announce_ip: str = directive(Text(), "", alias="slave-announce-ip")
    replica_announce_port: int = directive(Integer(0, 65535), "0", alias="slave-announce-port")
    replica_announced: bool = directive(Boolean(), "yes")
    replica_priority: int = directive(Integer(0, INT32_MAX), "100", alias="slave-priority")
    replica_read_only: bool = directive(Boolean(), "yes", alias="slave-read-only")
    replica_serve_stale_data: bool = directive(Boolean(), "yes", alias="slave-serve-stale-data")
    replica_ignore_maxmemory: bool = directive(Boolean(), "yes", alias="slave-ignore-maxmemory")
    replica_lazy_flush: bool = directive(Boolean(), "no", alias="slave-lazy-flush")
    # streams
    stream_node_max_bytes: int = directive(Memory(0, INT64_MAX), "4096")
    stream_node_max_entries: int = directive(Integer(0, INT64_MAX), "100")
    stream_idmp_duration: int = directive(Integer(1, 86400), "100")
    stream_idmp_maxsize: int = directive(Integer(1, 10000), "100")
    # Rillway's own: ms after a start or a promotion before which no delivery is past its deadline.
    policy_grace_ms: int = directive(Integer(0, 86_400_000), "5000")
    # the other collections
    hash_max_listpack_entries: int = directive(
        Integer(0, INT64_MAX), "512", alias="hash-max-ziplist-entries"
    )
    hash_max_listpack_value: int = directive(
        Memory(0, INT64_MAX), "64", alias="hash-max-ziplist-value"
    )
    list_max_listpack_size: int = directive(
        Integer(INT32_MIN, INT32_MAX), "-2", alias="list-max-ziplist-size"
    )
    list_compress_depth: int = directive(Integer(0, INT32_MAX), "0")
    set_max_intset_entries: int = directive(Integer(0, INT64_MAX), "512")
    set_max_listpack_entries: int = directive(Integer(0, INT64_MAX), "128")
    set_max_listpack_value: int = directive(Integer(0, INT64_MAX), "64")
    zset_max_listpack_entries: int = directive(
        Integer(0, INT64_MAX), "128", alias="zset-max-ziplist-entries"
    )
    zset_max_listpack_value: int = directive(
        Memory(0, INT64_MAX), "64", alias="zset-max-ziplist-value"
    )
    hll_sparse_max_bytes: int = directive(Memory(0, INT64_MAX), "3000")
    # observation
    notify_keyspace_events: int = directive(EventClasses(), "")
    slowlog_log_slower_than: int = directive(
        Integer(-1, INT64_MAX), "10000", alias="commandlog-execution-slower-than"
    )
    slowlog_max_len: int = directive(
        Integer(0, INT64_MAX), "128", alias="commandlog-slow-execution-max-len"
    )
    slowlog_entry_max_argc: int = directive(Integer(2, INT32_MAX), "32")
    slowlog_entry_max_string_len: int = directive(Integer(1, INT64_MAX), "128")
    latency_monitor_threshold: int = directive(Integer(0, INT64_MAX), "0")
    latency_tracking: bool = directive(Boolean(), "yes")
    latency_tracking_info_percentiles: list[float] = directive(Percentiles(), "50 99 99.9")
    tracking_table_max_keys: int = directive(Integer(0, INT64_MAX), "1000000")
    # Rillway's own: the endpoint for Prometheus; port 0: none
    metrics_port: int = directive(Integer(0, 65535), "0")
    metrics_bind: list[str] = directive(Words(), "127.0.0.1 -::1")
    metrics_user: str = directive(Text(), "")
    metrics_tls: bool = directive(Boolean(), "no")
    metrics_streams: list[str] = directive(Words(), "*")
    metrics_max_streams: int = directive(Integer(0, INT32_MAX), "1000")
    metrics_max_consumers: int = directive(Integer(0, INT32_MAX), "1000")
    metrics_latency_groups: list[str] = directive(Words(), "")

    # Inert: of Redis's implementation, or of a feature that another directive leaves unused. Any
    # legal value is accepted, kept and shown; the log says that it has no effect.
    lazyfree_lazy_expire: bool = directive(Boolean(), "no", inert=True)
    lazyfree_lazy_server_del: bool = directive(Boolean(), "no", inert=True)
    lazyfree_lazy_user_del: bool = directive(Boolean(), "no", inert=True)
    lazyfree_lazy_user_flush: bool = directive(Boolean(), "no", inert=True)
    activedefrag: bool = directive(Boolean(), "no", inert=True)
    active_defrag_cycle_min: int = directive(Integer(1, 99), "1", inert=True)
    active_defrag_cycle_max: int = directive(Integer(1, 99), "25", inert=True)
    active_defrag_ignore_bytes: int = directive(Memory(1, INT64_MAX), "100mb", inert=True)
    active_defrag_max_scan_fields: int = directive(Integer(1, INT64_MAX), "1000", inert=True)
    active_defrag_threshold_lower: int = directive(Integer(0, 1000), "10", inert=True)
    active_defrag_threshold_upper: int = directive(Integer(0, 1000), "100", inert=True)
    jemalloc_bg_thread: bool = directive(Boolean(), "yes", inert=True)
    activerehashing: bool = directive(Boolean(), "yes", inert=True)
    active_expire_effort: int = directive(Integer(1, 10), "1", inert=True)
    dynamic_hz: bool = directive(Boolean(), "yes", inert=True)
    io_threads: int = directive(Integer(1, 128), "1", inert=True, immutable=True)
    io_threads_do_reads: bool = directive(Boolean(), "no", inert=True, immutable=True)
    max_new_connections_per_cycle: int = directive(Integer(1, 1000), "10", inert=True)
    max_new_tls_connections_per_cycle: int = directive(Integer(1, 1000), "1", inert=True)
    server_cpulist: str = directive(Text(), "", inert=True, immutable=True, alias="server_cpulist")
    bio_cpulist: str = directive(Text(), "", inert=True, immutable=True, alias="bio_cpulist")
    aof_rewrite_cpulist: str = directive(
        Text(), "", inert=True, immutable=True, alias="aof_rewrite_cpulist"
    )
    bgsave_cpulist: str = directive(Text(), "", inert=True, immutable=True, alias="bgsave_cpulist")
    always_show_logo: bool = directive(Boolean(), "no", inert=True, immutable=True)
    set_proc_title: bool = directive(Boolean(), "yes", inert=True, immutable=True)
    proc_title_template: str = directive(Text(), "{title} {listen-addr} {server-mode}", inert=True)
    oom_score_adj: str = directive(Choice("no", "yes", "relative", "absolute"), "no", inert=True)
    oom_score_adj_values: list[int] = directive(Scores(), "0 200 800", inert=True)
    disable_thp: bool = directive(Boolean(), "yes", inert=True, immutable=True)
    crash_log_enabled: bool = directive(Boolean(), "yes", inert=True)
    crash_memcheck_enabled: bool = directive(Boolean(), "yes", inert=True)
    ignore_warnings: str = directive(Text(), "", inert=True)
    enable_module_command: str = directive(DANGEROUS_COMMANDS, "no", inert=True, immutable=True)
    propagation_error_behavior: str = directive(
        Choice("ignore", "panic", "panic-on-replicas"), "ignore"
    )
    replica_ignore_disk_write_errors: bool = directive(Boolean(), "no", inert=True)
    replica_full_sync_buffer_limit: int = directive(Memory(0, INT64_MAX), "0", inert=True)
    aof_disable_auto_gc: bool = directive(Boolean(), "no", inert=True)
    cluster_compatibility_sample_ratio: int = directive(Integer(0, 100), "0", inert=True)
    tls_ciphersuites: str = directive(Text(), "", inert=True)
    tls_session_cache_size: int = directive(Integer(0, INT32_MAX), "20480", inert=True)
    tls_session_cache_timeout: int = directive(Integer(0, INT32_MAX), "300", inert=True)
    tls_session_caching: bool = directive(Boolean(), "yes", inert=True)
    # of Redis 8.2 to 8.10
    lookahead: int = directive(Integer(1, INT32_MAX), "16", inert=True)
    key_memory_histograms: bool = directive(Boolean(), "no", inert=True)
    array_slice_size: int = directive(Integer(0, INT64_MAX), "4096", inert=True)
    array_sparse_kmax: int = directive(Integer(0, INT64_MAX), "10", inert=True)
    array_sparse_kmin: int = directive(Integer(0, INT64_MAX), "5", inert=True)
    hash_min_template_entries: int = directive(Integer(0, INT64_MAX), "0", inert=True)
    hash_max_template_entries: int = directive(Integer(0, INT64_MAX), "0", inert=True)
    hash_rdb_load_min_template_entries: int = directive(Integer(0, INT64_MAX), "0", inert=True)
    hash_rdb_load_max_template_entries: int = directive(Integer(0, INT64_MAX), "0", inert=True)
    hash_rdb_load_template_disassembly_threshold: int = directive(
        Integer(0, INT64_MAX), "0", inert=True
    )
    backupdirname: str = directive(Text(), "backupdir", inert=True, immutable=True)
    backup_sealed_ttl: int = directive(Integer(0, INT64_MAX), "0", inert=True)
    cluster_slot_migration_handoff_max_lag_bytes: int = directive(
        Memory(0, INT64_MAX), "1mb", inert=True
    )
    cluster_slot_migration_write_pause_timeout: int = directive(
        Integer(0, INT64_MAX), "10000", inert=True
    )
    cluster_slot_migration_max_archived_tasks: int = directive(
        Integer(1, INT32_MAX), "32", inert=True, hidden=True
    )
    cluster_slot_migration_sync_buffer_drain_timeout: int = directive(
        Integer(0, INT64_MAX), "60000", inert=True, hidden=True
    )
    vset_force_single_threaded_execution: bool = directive(Boolean(), "no", inert=True)
    lua_enable_deprecated_api: bool = directive(
        Boolean(), "no", inert=True, immutable=True, hidden=True, alias="lua-enable-insecure-api"
    )
    # of Valkey 8 and 9
    active_defrag_cycle_us: int = directive(Integer(0, 100_000), "500", inert=True)
    availability_zone: str = directive(Text(), "", inert=True)
    cluster_announce_client_ipv4: str = directive(Text(), "", inert=True)
    cluster_announce_client_ipv6: str = directive(Text(), "", inert=True)
    cluster_announce_client_port: int = directive(Integer(0, 65535), "0", inert=True)
    cluster_announce_client_tls_port: int = directive(Integer(0, 65535), "0", inert=True)
    cluster_blacklist_ttl: int = directive(Integer(0, INT64_MAX), "60", inert=True)
    cluster_config_save_behavior: str = directive(Choice("sync", "best-effort"), "sync", inert=True)
    cluster_databases: int = directive(Integer(1, INT32_MAX), "1", inert=True, immutable=True)
    cluster_manual_failover_timeout: int = directive(Integer(1, INT32_MAX), "5000", inert=True)
    cluster_slot_migration_log_max_len: int = directive(Integer(0, INT64_MAX), "1000", inert=True)
    slot_migration_max_failover_repl_bytes: int = directive(Memory(-1, INT64_MAX), "0", inert=True)
    commandlog_large_reply_max_len: int = directive(Integer(0, INT64_MAX), "128", inert=True)
    commandlog_large_request_max_len: int = directive(Integer(0, INT64_MAX), "128", inert=True)
    commandlog_reply_larger_than: int = directive(Integer(-1, INT64_MAX), "1048576", inert=True)
    commandlog_request_larger_than: int = directive(Integer(-1, INT64_MAX), "1048576", inert=True)
    dual_channel_replication_enabled: bool = directive(Boolean(), "no", inert=True)
    events_per_io_thread: int = directive(Integer(0, INT32_MAX), "2", inert=True, hidden=True)
    extended_redis_compatibility: bool = directive(Boolean(), "no", inert=True)
    hash_seed: str = directive(Text(), "", inert=True, immutable=True)
    import_mode: bool = directive(Boolean(), "no", inert=True)
    log_timestamp_format: str = directive(
        Choice("legacy", "iso8601", "milliseconds"), "legacy", inert=True
    )
    mptcp: bool = directive(Boolean(), "no", inert=True, immutable=True)
    repl_mptcp: bool = directive(Boolean(), "no", inert=True, immutable=True)
    prefetch_batch_max_size: int = directive(Integer(0, 128), "16", inert=True)
    rdb_version_check: str = directive(Choice("strict", "relaxed"), "strict", inert=True)
    rdma_bind: str = directive(Text(), "", inert=True)
    rdma_port: int = directive(Integer(0, 65535), "0", inert=True)
    rdma_rx_size: int = directive(Integer(0, INT64_MAX), "1048576", inert=True, immutable=True)
    rdma_completion_vector: int = directive(
        Integer(-1, INT32_MAX), "-1", inert=True, immutable=True
    )

    def __init__(self) -> None:
        for found in DIRECTIVES.values():
            value = found.default
            setattr(self, found.attribute, value.copy() if type(value) in (list, dict) else value)
        self.module_parameters: dict[str, str] = {}
        # The words of each `user` line: a name and rules (server/user_files.py).
        self.users: list[list[str]] = []
        # The old and the new name of each `rename-command` line (commands/core/registry.py).
        self.renamed_commands: list[tuple[str, str]] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and vars(self) == vars(other)

    def set(self, name: str, words: list[str], *, further: bool = False) -> None:
        """Set the directive `name` from the words of a line. Raises ValueError, KeyError.

        `further`: the same file has set it before; directives such as `save` then add to the value.
        """
        if name in absent_features.FEATURES:
            absent_features.check(name, words)
            return
        if name.startswith(absent_features.MODULE_PARAMETERS):
            self.module_parameters[name] = " ".join(words)
            return
        if name == USER:
            self._add_user(words)
            return
        if name == RENAME_COMMAND:
            if len(words) != 2:
                raise ValueError("wrong number of arguments")
            self.renamed_commands.append((words[0], words[1]))
            return
        if further and not words:
            return  # as in Redis: `save` alone adds nothing
        found = DIRECTIVES[name]
        value, old = found.kind.parse(words), getattr(self, found.attribute)
        combine = found.kind.extend if further else found.kind.combine
        setattr(self, found.attribute, combine(old, value))

    def _add_user(self, words: list[str]) -> None:
        """Declare a user. What its rules mean is found out when all commands are known."""
        if len(words) == 1:
            words = words[0].split() or words  # from an environment variable
        if any(words[0] == declared[0] for declared in self.users):
            raise ValueError(
                "Duplicate user found. A user can only be defined once in config files"
            )
        try:
            joined([word.encode("utf-8", "surrogateescape") for word in words[1:]])
        except RuleError as error:
            raise ValueError(error.reason.decode("utf-8", "surrogateescape")) from None
        self.users.append(words)

    def get(self, name: str) -> str:
        """The value of a directive as CONFIG GET prints it. Raises KeyError."""
        if name in absent_features.VALUES:
            return absent_features.VALUES[name]
        found = DIRECTIVES[name]
        return found.kind.format(getattr(self, found.attribute))

    def without_effect(self) -> list[str]:
        """The inert directives that are not at their default, as `name value`."""
        return [f"{name} {value}" for name, value in self.module_parameters.items()] + [
            f"{name} {found.kind.format(value)}"
            for name, found in DIRECTIVES.items()
            if found.inert
            and name == found.name
            and (value := getattr(self, found.attribute)) != found.default
        ]


def _directives() -> Iterator[tuple[str, Directive]]:
    for found in vars(Configuration).values():
        if isinstance(found, Directive):
            yield found.name, found
            if found.alias:
                yield found.alias, found


DIRECTIVES = dict(_directives())  # by every name, aliases too
NAMES = [*DIRECTIVES, *absent_features.VALUES]  # what CONFIG GET answers
HIDDEN = {name for name, found in DIRECTIVES.items() if found.hidden}  # not to patterns


def is_known(name: str) -> bool:
    """Return True if `name` (lower case) is a directive, including those of missing features."""
    return name in DIRECTIVES or name in absent_features.FEATURES


def is_known_in_files(name: str) -> bool:
    """`is_known` for a file, which also declares users and has parameters of modules."""
    is_parameter = name.startswith(absent_features.MODULE_PARAMETERS)
    return is_parameter or is_known(name) or name in (USER, RENAME_COMMAND)

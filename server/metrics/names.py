"""The names of metrics.

What redis_exporter exposes has its name here, so that its dashboards work; all else begins with
`rillway_`, or with `process_` as in the clients of Prometheus. Types are true ones: redis_exporter
exposes some counters as gauges.

Source: redis_exporter, August 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from protocol.records import entity


@entity
class Family:
    """A metric: its samples differ in their labels."""

    name: str
    kind: str  # "gauge", "counter" or "histogram"
    help: str


# Fields of INFO by section, as `field` or `field=name`; `redis_` comes before each name, before
# those of Rillway's own section `rillway_`.
_GAUGES = {
    "server": """
        uptime_in_seconds process_id io_threads_active configured_hz hz
    """,
    "clients": """
        connected_clients blocked_clients maxclients=max_clients tracking_clients
        clients_in_timeout_table pubsub_clients watching_clients total_watched_keys
        total_blocking_keys total_blocking_keys_on_nokey
        client_recent_max_output_buffer=client_recent_max_output_buffer_bytes
        client_recent_max_input_buffer=client_recent_max_input_buffer_bytes
    """,
    "memory": """
        allocator_active=allocator_active_bytes
        allocator_allocated=allocator_allocated_bytes
        allocator_resident=allocator_resident_bytes allocator_frag_ratio
        allocator_frag_bytes allocator_rss_ratio allocator_rss_bytes
        used_memory=memory_used_bytes used_memory_rss=memory_used_rss_bytes
        used_memory_peak=memory_used_peak_bytes used_memory_lua=memory_used_lua_bytes
        used_memory_vm_eval=memory_used_vm_eval_bytes
        used_memory_scripts_eval=memory_used_scripts_eval_bytes
        used_memory_overhead=memory_used_overhead_bytes
        used_memory_startup=memory_used_startup_bytes
        used_memory_dataset=memory_used_dataset_bytes number_of_cached_scripts
        number_of_functions number_of_libraries
        used_memory_vm_functions=memory_used_vm_functions_bytes
        used_memory_scripts=memory_used_scripts_bytes
        used_memory_functions=memory_used_functions_bytes
        used_memory_vm_total=memory_used_vm_total maxmemory=memory_max_bytes
        mem_fragmentation_ratio mem_fragmentation_bytes mem_clients_slaves
        mem_clients_normal mem_cluster_links=mem_cluster_links_bytes
        mem_aof_buffer=mem_aof_buffer_bytes
        mem_replication_backlog=mem_replication_backlog_bytes
        mem_not_counted_for_evict=mem_not_counted_for_eviction_bytes
        mem_total_replication_buffers=mem_total_replication_buffers_bytes
        lazyfree_pending_objects active_defrag_running
        total_system_memory=total_system_memory_bytes
    """,
    "persistence": """
        loading=loading_dump_file async_loading rdb_changes_since_last_save
        rdb_bgsave_in_progress rdb_last_save_time=rdb_last_save_timestamp_seconds
        rdb_last_bgsave_status rdb_last_bgsave_time_sec=rdb_last_bgsave_duration_sec
        rdb_current_bgsave_time_sec=rdb_current_bgsave_duration_sec
        rdb_last_cow_size=rdb_last_cow_size_bytes
        rdb_last_load_keys_expired=rdb_last_load_expired_keys
        rdb_last_load_keys_loaded=rdb_last_load_loaded_keys aof_enabled
        aof_rewrite_in_progress aof_rewrite_scheduled
        aof_last_rewrite_time_sec=aof_last_rewrite_duration_sec
        aof_current_rewrite_time_sec=aof_current_rewrite_duration_sec
        aof_last_cow_size=aof_last_cow_size_bytes aof_current_size=aof_current_size_bytes
        aof_base_size=aof_base_size_bytes aof_pending_rewrite aof_buffer_length
        aof_pending_bio_fsync aof_last_bgrewrite_status aof_last_write_status
        module_fork_in_progress module_fork_last_cow_size
    """,
    "stats": """
        expired_stale_perc=expired_stale_percentage
        migrate_cached_sockets=migrate_cached_sockets_total
        current_eviction_exceeded_time=current_eviction_exceeded_time_ms pubsub_channels
        pubsub_patterns pubsubshard_channels latest_fork_usec=latest_fork_seconds
        tracking_total_keys tracking_total_items tracking_total_prefixes
        instantaneous_eventloop_cycles_per_sec instantaneous_eventloop_duration_usec
        slave_expires_tracked_keys
    """,
    "replication": """
        connected_slaves repl_backlog_size=replication_backlog_bytes
        repl_backlog_active=repl_backlog_is_active repl_backlog_first_byte_offset
        repl_backlog_histlen=repl_backlog_history_bytes master_repl_offset
        second_repl_offset slave_priority
    """,
    "tls": """
        tls_server_cert_expires_in_seconds tls_client_cert_expires_in_seconds
        tls_ca_cert_expires_in_seconds
    """,
    "policies": """
        streams_with_policy groups_with_policy scheduled_entries retention_paused
    """,
    "access": """
        audit_log_enabled audit_log_last_write_status
    """,
}
_COUNTERS = {
    "memory": """
        lazyfreed_objects
    """,
    "persistence": """
        rdb_saves=rdb_saves_total aof_delayed_fsync
    """,
    "stats": """
        active_defrag_hits=defrag_hits active_defrag_misses=defrag_misses
        active_defrag_key_hits=defrag_key_hits active_defrag_key_misses=defrag_key_misses
        sync_full=replica_resyncs_full sync_partial_ok=replica_partial_resync_accepted
        sync_partial_err=replica_partial_resync_denied
        total_connections_received=connections_received_total
        total_commands_processed=commands_processed_total
        rejected_connections=rejected_connections_total
        total_net_input_bytes=net_input_bytes_total
        total_net_output_bytes=net_output_bytes_total
        total_net_repl_input_bytes=net_repl_input_bytes_total
        total_net_repl_output_bytes=net_repl_output_bytes_total
        expired_subkeys=expired_subkeys_total expired_keys=expired_keys_total
        expired_time_cap_reached_count=expired_time_cap_reached_total
        expire_cycle_cpu_milliseconds=expire_cycle_cpu_time_ms_total
        evicted_keys=evicted_keys_total evicted_clients=evicted_clients_total
        evicted_scripts=evicted_scripts_total
        total_eviction_exceeded_time=eviction_exceeded_time_ms_total
        keyspace_hits=keyspace_hits_total keyspace_misses=keyspace_misses_total
        eventloop_cycles=eventloop_cycles_total
        eventloop_duration_sum=eventloop_duration_sum_usec_total
        eventloop_duration_cmd_sum=eventloop_duration_cmd_sum_usec_total
        unexpected_error_replies total_error_replies dump_payload_sanitizations
        total_reads_processed total_writes_processed io_threaded_reads_processed
        io_threaded_writes_processed
        client_query_buffer_limit_disconnections=client_query_buffer_limit_disconnections_total
        client_output_buffer_limit_disconnections=client_output_buffer_limit_disconnections_total
        reply_buffer_shrinks=reply_buffer_shrinks_total
        reply_buffer_expands=reply_buffer_expands_total
        acl_access_denied_auth=acl_access_denied_auth_total
        acl_access_denied_cmd=acl_access_denied_cmd_total
        acl_access_denied_key=acl_access_denied_key_total
        acl_access_denied_channel=acl_access_denied_channel_total
        acl_access_denied_tls_cert=acl_access_denied_tls_cert_total
    """,
    "cpu": """
        used_cpu_sys=cpu_sys_seconds_total used_cpu_user=cpu_user_seconds_total
        used_cpu_sys_children=cpu_sys_children_seconds_total
        used_cpu_user_children=cpu_user_children_seconds_total
        used_cpu_sys_main_thread=cpu_sys_main_thread_seconds_total
        used_cpu_user_main_thread=cpu_user_main_thread_seconds_total
    """,
    "policies": """
        redelivered_total dead_lettered_total dead_letter_failures=dead_letter_failures_total
        retention_removed_total policy_steps_us=policy_steps_usec_total
    """,
    "access": """
        audit_log_lines=audit_log_lines_total audit_log_missed=audit_log_missed_total
        user_limit_refused_connections=user_limit_refused_connections_total
        user_limit_refused_requests=user_limit_refused_requests_total
        user_limit_refused_output=user_limit_refused_output_total
    """,
}
_OWN_SECTIONS = {"policies", "access"}


def _families() -> Iterator[tuple[str, str, Family]]:
    for kind, table in (("gauge", _GAUGES), ("counter", _COUNTERS)):
        for section, words in table.items():
            for word in words.split():
                field, _, name = word.partition("=")
                make = _own if section in _OWN_SECTIONS else _redis
                yield section, field, make(name or field, kind, f"{field} of INFO {section}")


def _redis(name: str, kind: str, text: str) -> Family:
    return Family(f"redis_{name}", kind, text)


def _own(name: str, kind: str, text: str) -> Family:
    return Family(f"rillway_{name}", kind, text)


# By section, in the order of INFO: the field, and its metric.
INFO_FIELDS: dict[str, dict[str, Family]] = {section: {} for section in [*_GAUGES, *_COUNTERS]}
for _section, _field, _family in _families():
    INFO_FIELDS[_section][_field] = _family

UP = _redis("up", "gauge", "1: the server answers")
START_TIME = _redis("start_time_seconds", "gauge", "Unix time of the start")
FRAGMENTATION = _redis(
    "memory_fragmentation_ratio", "gauge", "mem_fragmentation_ratio of INFO memory"
)
SLOWLOG_LENGTH = _redis("slowlog_length", "gauge", "Entries in the slow log")
SLOWLOG_LAST_ID = _redis("slowlog_last_id", "gauge", "Number of the latest entry of the slow log")
SLOWLOG_LAST_SECONDS = _redis(
    "last_slow_execution_duration_seconds", "gauge", "Duration of the latest entry of the slow log"
)
CONFIG_MAXCLIENTS = _redis("config_maxclients", "gauge", "The directive maxclients")
CONFIG_MAXMEMORY = _redis("config_maxmemory", "gauge", "The directive maxmemory")
CONFIG_BACKLOG = _redis("config_repl_backlog_size", "gauge", "The directive repl-backlog-size")
INSTANCE_INFO = _redis("instance_info", "gauge", "The server; always 1")
SLAVE_INFO = _redis("slave_info", "gauge", "The link to a primary; always 1")

DB_KEYS = _redis("db_keys", "gauge", "Keys of a database")
DB_KEYS_EXPIRING = _redis("db_keys_expiring", "gauge", "Keys with a time to live")
DB_EXPIRING_ITEMS = _redis(
    "db_keys_with_expiring_items", "gauge", "Keys with items that have a time to live"
)
DB_AVERAGE_TTL = _redis("db_avg_ttl_seconds", "gauge", "Mean time to live of a sample of keys")

COMMANDS = _redis("commands_total", "counter", "Calls of a command")
COMMAND_SECONDS = _redis("commands_duration_seconds_total", "counter", "Time spent in a command")
COMMANDS_FAILED = _redis("commands_failed_calls_total", "counter", "Calls answered with an error")
COMMANDS_REJECTED = _redis(
    "commands_rejected_calls_total", "counter", "Calls refused before they ran"
)
COMMAND_LATENCIES = _redis(
    "commands_latencies_usec", "histogram", "Durations of calls, in microseconds"
)
ERRORS = _redis("errors_total", "counter", "Error replies by their first word")

REPLICA_OFFSET = _redis("connected_slave_offset_bytes", "gauge", "What a replica has acknowledged")
REPLICA_LAG = _redis("connected_slave_lag_seconds", "gauge", "Since a replica was heard of")
LINK_UP = _redis("master_link_up", "gauge", "1: the link to the primary is up")
LINK_SILENCE = _redis("master_last_io_seconds_ago", "gauge", "Since the primary was heard of")
LINK_SYNC = _redis("master_sync_in_progress", "gauge", "1: a snapshot of the primary is received")
LINK_OFFSET = _redis("slave_repl_offset", "gauge", "What was applied of the primary's stream")

SPIKE_LAST = _redis("latency_spike_last", "gauge", "Unix time of the latest spike of an event")
SPIKE_SECONDS = _redis("latency_spike_duration_seconds", "gauge", "Duration of the latest spike")

STREAM_LENGTH = _redis("stream_length", "gauge", "Entries of a stream")
STREAM_GROUPS = _redis("stream_groups", "gauge", "Groups of a stream")
STREAM_NODES = _redis("stream_radix_tree_keys", "gauge", "Nodes of a stream")
STREAM_FIRST_ID = _redis("stream_first_entry_id", "gauge", "Time in the ID of the first entry, ms")
STREAM_LAST_ID = _redis("stream_last_entry_id", "gauge", "Time in the ID of the last entry, ms")
STREAM_GENERATED_ID = _redis("stream_last_generated_id", "gauge", "Time in the greatest ID, ms")
STREAM_DELETED_ID = _redis(
    "stream_max_deleted_entry_id", "gauge", "Time in the greatest ID that was deleted, ms"
)
STREAM_ADDED = _redis("stream_entries_added_total", "counter", "Entries that were ever added")
STREAM_BYTES = _own("stream_memory_bytes", "gauge", "Memory of a stream with its groups")
STREAM_BLOCKED = _own("stream_blocked_clients", "gauge", "Clients that wait for a stream")
STREAM_SCHEDULED = _own("stream_scheduled", "gauge", "Entries that are added later (DELAY)")

GROUP_CONSUMERS = _redis("stream_group_consumers", "gauge", "Consumers of a group")
GROUP_PENDING = _redis("stream_group_messages_pending", "gauge", "Pending entries of a group")
GROUP_LAG = _redis(
    "stream_group_lag", "gauge", "Entries not delivered yet; no sample if it is not known"
)
GROUP_READ = _redis("stream_group_entries_read", "gauge", "Entries that a group has read")
GROUP_DELIVERED_ID = _redis(
    "stream_group_last_delivered_id", "gauge", "Time in the last delivered ID, ms"
)
GROUP_OLDEST_PENDING = _own(
    "stream_group_oldest_pending_age_seconds", "gauge", "Since the first pending entry was added"
)
GROUP_LONGEST_IDLE = _own(
    "stream_group_longest_idle_pending_seconds", "gauge", "Since the delivery furthest back"
)
GROUP_LAG_SECONDS = _own(
    "stream_group_lag_seconds", "gauge", "Since the first entry was added that is not delivered"
)
GROUP_LATENCY = _own(
    "stream_group_delivery_latency_seconds", "histogram", "From XADD to the first delivery"
)
GROUP_HELD = _own("stream_group_held", "gauge", "1: MAX-PENDING keeps new entries back")
GROUP_REDELIVERED = _own(
    "stream_group_redelivered_total", "counter", "Deliveries of entries that fell due"
)
GROUP_DEAD_LETTERS = _own(
    "stream_group_dead_letters_total", "counter", "Entries that became dead letters"
)
CONSUMER_PENDING = _redis(
    "stream_group_consumer_messages_pending", "gauge", "Pending entries of a consumer"
)
CONSUMER_IDLE = _redis(
    "stream_group_consumer_idle_seconds", "gauge", "Since a consumer tried to read or claim"
)

BUILD_INFO = _own("build_info", "gauge", "The version; always 1")
LATENCY = _own(
    "delivery_latency_seconds", "histogram", "From XADD to the first delivery, in all groups"
)
STREAMS_OMITTED = _own(
    "metrics_streams_omitted", "gauge", "Streams beyond metrics-max-streams, or with a long name"
)
GROUPS_OMITTED = _own("metrics_groups_omitted", "gauge", "Groups without metrics of their own")
CONSUMERS_OMITTED = _own(
    "metrics_consumers_omitted", "gauge", "Consumers without metrics of their own"
)
SCRAPE_SECONDS = _own("metrics_scrape_duration_seconds", "gauge", "What the last scrape took")
SCRAPES = _own("metrics_scrapes_total", "counter", "Scrapes, this one included")

PROCESS_CPU = Family("process_cpu_seconds_total", "counter", "Processor time")
PROCESS_RESIDENT = Family("process_resident_memory_bytes", "gauge", "Resident memory")
PROCESS_FILES = Family("process_open_fds", "gauge", "Open files")
PROCESS_MAX_FILES = Family("process_max_fds", "gauge", "Open files allowed")
PROCESS_START = Family("process_start_time_seconds", "gauge", "Unix time of the start")


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def label_value(name: bytes) -> str:
    """A name as it stands between the quotes: bytes that are no UTF-8 as `\\xff`."""
    text = name.decode("utf-8", "backslashreplace")
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def labels(**values: str | bytes) -> str:
    """Labels as they stand between the braces."""
    return ",".join(f'{name}="{label_value(_bytes(value))}"' for name, value in values.items())


def _bytes(value: str | bytes) -> bytes:
    """Directives hold bytes that are no UTF-8 as surrogates."""
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


class Page:
    """The samples of one scrape."""

    def __init__(self) -> None:
        self._lines: dict[Family, list[str]] = {}
        self._encoded: dict[Family, list[bytes]] = {}

    def lines(self, family: Family) -> list[str]:
        """The lines since the last `flush`, to append to."""
        lines = self._lines.get(family)
        if lines is None:
            lines = self._lines[family] = []
        return lines

    def add(self, family: Family, value: float | None, labels: str = "") -> None:
        """Add a sample; `labels` stand between the braces. None: there is no sample."""
        if value is not None:
            name = f"{family.name}{{{labels}}}" if labels else family.name
            self.lines(family).append(f"{name} {value}\n")

    def add_histogram(
        self,
        family: Family,
        bounds: Iterable[float],
        cumulative: Sequence[int],
        total: float,
        labels: str = "",
    ) -> None:
        """Add a histogram: the counts up to each bound, and at last that of all."""
        lines, name = self.lines(family), family.name
        before = f"{labels}," if labels else ""
        around = f"{{{labels}}}" if labels else ""
        lines += [
            f'{name}_bucket{{{before}le="{bound}"}} {count}\n'
            for bound, count in zip([*bounds, "+Inf"], cumulative, strict=True)
        ]
        lines.append(f"{name}_sum{around} {total}\n")
        lines.append(f"{name}_count{around} {cumulative[-1]}\n")

    def flush(self) -> None:
        """Encode the lines so far."""
        for family, lines in self._lines.items():
            if lines:
                encoded = self._encoded.get(family)
                if encoded is None:
                    encoded = self._encoded[family] = [_head(family)]
                encoded.append("".join(lines).encode())
                lines.clear()

    def pieces(self) -> Iterator[bytes]:
        """The whole page."""
        self.flush()
        for encoded in self._encoded.values():
            yield from encoded


def _head(family: Family) -> bytes:
    return f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n".encode()

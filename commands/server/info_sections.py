"""The sections of INFO: each is a function from the instance to names and values.

Names are Redis 8.10's, in its order. A field of a feature that Rillway does not have (cluster,
modules, ...) has the value that Redis shows when it is off. Fields that describe the build of
Redis's C program are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TypeAlias

from commands.acl.user_limits import UserLimits
from commands.connection.client_memory import count_clients
from commands.connection.invalidation_table import TrackingTable
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Clients
from commands.core.host import RILLWAY_VERSION, reported
from commands.core.instance import Instance
from commands.core.server_state import NEVER
from commands.eviction.eviction import scripting_figures
from commands.pubsub.registry import PubSub
from commands.replication.roles import buffers, replication
from commands.server.audit import AuditTrail
from commands.server.memory import human, memory_figures
from commands.streams.policies.timer import PolicyTimer
from commands.transactions.watched_keys import Watchers
from protocol.request import IS_COMPILED
from storage.keyspace.database import Database

Value: TypeAlias = "str | int"
Field: TypeAlias = "tuple[str, Value]"
Section: TypeAlias = Callable[[Instance], Iterator[Field]]

# avg_ttl is a mean over this many keys: over all of them it would take too long.
TTL_SAMPLE = 1000
# A client counts as active for as long after a request.
ACTIVE_MS = 512


def server(instance: Instance) -> Iterator[Field]:
    """The version, process, port, uptime and files of the server."""
    facts, config = instance.host.facts(), instance.config
    now_us = instance.host.clock_us()
    uptime_s = (instance.host.monotonic_us() // 1000 - instance.up_since_ms) // 1000
    yield "redis_version", reported(instance.is_cluster)
    yield "rillway_version", RILLWAY_VERSION
    yield "rillway_compiled", int(IS_COMPILED)
    yield "redis_git_sha1", "00000000"
    yield "redis_git_dirty", 0
    yield "redis_mode", "cluster" if instance.is_cluster else "standalone"
    yield "os", facts.os
    yield "arch_bits", 64
    yield "monotonic_clock", "POSIX clock_gettime"
    yield "multiplexing_api", facts.event_loop
    yield "process_id", facts.pid
    yield "process_supervised", facts.supervisor
    yield "run_id", instance.run_id
    yield "tcp_port", config.port or config.tls_port
    yield "server_time_usec", now_us
    yield "uptime_in_seconds", uptime_s
    yield "uptime_in_days", uptime_s // 86400
    yield "hz", config.hz
    yield "configured_hz", config.hz
    yield "lru_clock", now_us // 1_000_000 & 0xFFFFFF
    yield "executable", facts.executable
    yield "config_file", facts.config_file
    if instance.shutdown_at_ms:
        yield "shutdown_in_milliseconds", max(0, instance.shutdown_at_ms - instance.monotonic_ms)
    yield "io_threads_active", 0
    yield from _listeners(facts.listeners)


def _listeners(listeners: list[tuple[str, str, int]]) -> Iterator[Field]:
    """A line for each kind of port with all of its addresses, one for a Unix socket."""
    lines = []
    for name in ("tcp", "tls"):
        places = [(address, port) for kind, address, port in listeners if kind == name]
        if places:
            addresses = ",".join(f"bind={address}" for address, _ in places)
            lines.append(f"name={name},{addresses},port={places[0][1]}")
    lines += [f"name=unix,bind={path}" for kind, path, _ in listeners if kind == "unix"]
    yield from ((f"listener{number}", line) for number, line in enumerate(lines))


def clients(instance: Instance) -> Iterator[Field]:
    """Numbers of connected and of blocked clients."""
    counts = count_clients(instance, instance.monotonic_ms - ACTIVE_MS)
    blocked = instance.feature(BlockedClients)
    yield "connected_clients", counts.connected
    yield "cluster_connections", 0
    yield "maxclients", instance.config.maxclients
    yield "client_recent_max_input_buffer", counts.input_bytes
    yield "client_recent_max_output_buffer", counts.output_bytes
    yield "blocked_clients", len(blocked.clients) + counts.held_back
    yield "tracking_clients", len(instance.feature(TrackingTable).clients)
    yield "pubsub_clients", counts.subscribed
    yield "watching_clients", instance.feature(Watchers).clients
    yield "clients_in_timeout_table", blocked.timed
    yield "active_clients", counts.active
    yield "total_watched_keys", len(instance.feature(Watchers).by_key)
    yield "total_blocking_keys", len(blocked.waiters)
    yield "total_blocking_keys_on_nokey", len(blocked.on_missing_key)


_SLOT_MIGRATION_BUFFERS = (
    "cluster_slot_migration_output_buffer",
    "cluster_slot_migration_input_buffer",
    "cluster_slot_migration_input_buffer_peak",
)


def memory(instance: Instance) -> Iterator[Field]:
    """The use of memory (commands/server/memory.py)."""
    figures = memory_figures(instance)
    for name, size in (
        ("used_memory", figures.used),
        ("used_memory_rss", figures.resident),
        ("used_memory_peak", figures.peak),
    ):
        yield name, size
        yield f"{name}_human", human(size)
    yield "used_memory_peak_time", figures.peak_ms // 1000
    yield "used_memory_peak_perc", f"{figures.peak_percentage:.2f}%"
    yield "used_memory_overhead", figures.overhead
    yield "used_memory_startup", figures.startup
    yield "used_memory_dataset", figures.dataset
    yield "used_memory_dataset_perc", f"{figures.dataset_percentage:.2f}%"
    yield "allocator_allocated", figures.used
    yield "allocator_active", figures.used
    yield "allocator_resident", figures.resident
    yield "allocator_muzzy", 0
    yield "total_system_memory", figures.total_system
    yield "total_system_memory_human", human(figures.total_system)
    yield from _scripting_memory(instance)
    yield "maxmemory", instance.config.maxmemory
    yield "maxmemory_human", human(instance.config.maxmemory)
    yield "maxmemory_policy", instance.config.maxmemory_policy
    yield "allocator_frag_ratio", "1.00"
    yield "allocator_frag_bytes", 0
    yield "allocator_rss_ratio", "1.00"
    yield "allocator_rss_bytes", 0
    yield "rss_overhead_ratio", "1.00"
    yield "rss_overhead_bytes", 0
    yield "mem_fragmentation_ratio", f"{figures.resident / max(figures.used, 1):.2f}"
    yield "mem_fragmentation_bytes", figures.resident - figures.used
    yield "mem_not_counted_for_evict", 0
    yield from buffers(instance)
    yield "mem_clients_normal", figures.clients
    for absent in ("clients_normal_shared", "clients_normal_unshared", *_SLOT_MIGRATION_BUFFERS):
        yield f"mem_{absent}", 0
    yield "mem_cluster_links", 0
    yield "mem_aof_buffer", instance.persistence.buffer_bytes
    yield "mem_allocator", "pymalloc"
    yield "mem_overhead_db_hashtable_rehashing", 0
    yield "active_defrag_running", 0
    yield "lazyfree_pending_objects", instance.background_work.unfreed_objects
    yield "lazyfreed_objects", instance.background_work.freed_objects


def _scripting_memory(instance: Instance) -> Iterator[Field]:
    """The interpreters, and the texts of scripts and libraries."""
    figures = scripting_figures(instance)
    yield "used_memory_lua", figures.eval_bytes
    yield "used_memory_vm_eval", figures.eval_bytes
    yield "used_memory_lua_human", human(figures.eval_bytes)
    yield "used_memory_scripts_eval", figures.script_bytes
    yield "number_of_cached_scripts", figures.scripts
    yield "number_of_functions", figures.functions
    yield "number_of_libraries", figures.libraries
    yield "used_memory_vm_functions", figures.function_bytes
    yield "used_memory_vm_total", figures.eval_bytes + figures.function_bytes
    yield "used_memory_vm_total_human", human(figures.eval_bytes + figures.function_bytes)
    yield "used_memory_functions", figures.library_bytes
    yield "used_memory_scripts", figures.script_bytes + figures.library_bytes
    yield "used_memory_scripts_human", human(figures.script_bytes + figures.library_bytes)


def persistence(instance: Instance) -> Iterator[Field]:
    """The state of the files, and of the child that writes one."""
    state = instance.persistence
    yield "loading", int(state.loading)
    yield "async_loading", int(instance.replication.link.is_installing and not state.loading)
    yield from _child(instance)
    yield from _snapshots(instance)
    yield from _append_only_file(instance)
    yield "module_fork_in_progress", 0
    yield "module_fork_last_cow_size", 0
    if instance.config.appendonly:
        yield from _append_only_file_sizes(instance)
    if state.loading:
        yield from _loading(instance)


def _child(instance: Instance) -> Iterator[Field]:
    state = instance.persistence
    if not (state.save_in_progress or state.rewrite_in_progress):
        yield "current_cow_peak", 0
        yield "current_cow_size", 0
        yield "current_cow_size_age", 0
        yield "current_fork_perc", "0.00"
        yield "current_save_keys_processed", 0
        yield "current_save_keys_total", 0
        return
    done, total = state.child_keys_processed, state.child_keys_total
    yield "current_cow_peak", state.child_copied_peak_bytes
    yield "current_cow_size", state.child_copied_bytes
    yield "current_cow_size_age", (instance.monotonic_ms - state.child_copied_at_ms) // 1000
    yield "current_fork_perc", f"{100 * done / total if total else 0:.2f}"
    yield "current_save_keys_processed", done
    yield "current_save_keys_total", total


def _snapshots(instance: Instance) -> Iterator[Field]:
    state = instance.persistence
    yield "rdb_changes_since_last_save", instance.dirty
    yield "rdb_bgsave_in_progress", int(state.save_in_progress)
    yield "rdb_last_save_time", state.last_save_ms // 1000
    yield "rdb_last_bgsave_status", _status(state.save_succeeded)
    yield "rdb_last_bgsave_time_sec", state.save_duration_s
    yield (
        "rdb_current_bgsave_time_sec",
        _seconds_since(state.save_started_ms, instance) if state.save_in_progress else NEVER,
    )
    yield "rdb_saves", state.saves
    yield "rdb_saves_consecutive_failures", state.save_failures
    yield "rdb_last_cow_size", state.save_copied_bytes
    yield "rdb_last_load_keys_expired", state.expired_keys_on_load
    yield "rdb_last_load_keys_loaded", state.loaded_keys
    yield "rdb_last_load_keys_skipped", state.skipped_keys_on_load


def _append_only_file(instance: Instance) -> Iterator[Field]:
    state = instance.persistence
    yield "aof_enabled", int(instance.config.appendonly)
    yield "aof_rewrite_in_progress", int(state.rewrite_in_progress)
    yield "aof_rewrite_scheduled", int(state.rewrite_scheduled)
    yield "aof_last_rewrite_time_sec", state.rewrite_duration_s
    yield (
        "aof_current_rewrite_time_sec",
        _seconds_since(state.rewrite_started_ms, instance) if state.rewrite_in_progress else NEVER,
    )
    yield "aof_last_bgrewrite_status", _status(state.rewrite_succeeded)
    yield "aof_rewrites", state.rewrites
    yield "aof_rewrites_consecutive_failures", state.rewrite_failures
    yield "aof_last_write_status", _status(not state.write_error)
    yield "aof_last_cow_size", state.rewrite_copied_bytes


def _append_only_file_sizes(instance: Instance) -> Iterator[Field]:
    state = instance.persistence
    yield "aof_current_size", state.current_bytes
    yield "aof_base_size", state.base_bytes
    yield "aof_pending_rewrite", int(state.rewrite_scheduled)
    yield "aof_buffer_length", state.buffer_bytes
    yield "aof_pending_bio_fsync", state.pending_syncs
    yield "aof_delayed_fsync", state.delayed_syncs


def _loading(instance: Instance) -> Iterator[Field]:
    state = instance.persistence
    elapsed_s = _seconds_since(state.loading_since_ms, instance)
    done, total = state.loading_loaded_bytes, state.loading_total_bytes
    # Redis's figure in the first second, when it does not know yet, is 1.
    left_s = (total - done) * elapsed_s // done if done and elapsed_s else 1
    yield "loading_start_time", state.loading_started_ms // 1000
    yield "loading_total_bytes", total
    yield "loading_rdb_used_mem", 0
    yield "loading_loaded_bytes", done
    yield "loading_loaded_perc", f"{100 * done / total if total else 0:.2f}"
    yield "loading_eta_seconds", left_s


def _status(is_ok: bool) -> str:
    return "ok" if is_ok else "err"


def _seconds_since(when_ms: int, instance: Instance) -> int:
    return (instance.monotonic_ms - when_ms) // 1000


def threads(instance: Instance) -> Iterator[Field]:
    """What each thread has read from sockets and written to them: the main one does all."""
    stats, clients = instance.stats, len(instance.feature(Clients).by_id)
    reads, writes = stats.reads_processed, stats.writes_processed
    yield "io_thread_0", f"clients={clients},reads={reads},writes={writes}"


def stats(instance: Instance) -> Iterator[Field]:
    """Counters since the start, or since CONFIG RESETSTAT."""
    yield from _traffic(instance)
    yield from _synchronisations(instance)
    yield from _keyspace_activity(instance)
    yield from _processing(instance)


def _traffic(instance: Instance) -> Iterator[Field]:
    stats = instance.stats
    yield "total_connections_received", stats.connections_received
    yield "total_commands_processed", stats.commands_processed
    yield "instantaneous_ops_per_sec", round(stats.operations.per_second())
    yield "total_net_input_bytes", stats.net_input_bytes
    yield "total_net_output_bytes", stats.net_output_bytes
    yield "total_net_repl_input_bytes", instance.replication.input_bytes
    yield "total_net_repl_output_bytes", instance.replication.output_bytes
    yield "instantaneous_input_kbps", f"{stats.input_bytes.per_second() / 1024:.2f}"
    yield "instantaneous_output_kbps", f"{stats.output_bytes.per_second() / 1024:.2f}"
    yield "instantaneous_input_repl_kbps", f"{stats.replicated_input.per_second() / 1024:.2f}"
    yield "instantaneous_output_repl_kbps", f"{stats.replicated_output.per_second() / 1024:.2f}"
    yield "rejected_connections", stats.rejected_connections


def _synchronisations(instance: Instance) -> Iterator[Field]:
    state = instance.replication
    yield "sync_full", state.full_syncs
    yield "sync_partial_ok", state.partial_syncs
    yield "sync_partial_err", state.refused_partial_syncs


def _keyspace_activity(instance: Instance) -> Iterator[Field]:
    stats, tracking = instance.stats, instance.feature(TrackingTable)
    pubsub = instance.feature(PubSub)
    yield "expired_subkeys", stats.expired_subkeys
    yield "expired_subkeys_active", stats.expired_subkeys_active
    yield "expired_keys", stats.expired_keys
    yield "expired_keys_active", stats.expired_keys_active
    yield "expired_stale_perc", "0.00"  # deadlines are kept in order, so there is no sampling
    yield "expired_time_cap_reached_count", stats.expire_cycles_cut_short
    yield "expire_cycle_cpu_milliseconds", stats.expire_cycle_us // 1000
    yield "evicted_keys", stats.evicted_keys
    yield "evicted_clients", stats.evicted_clients
    yield "evicted_scripts", scripting_figures(instance).evicted_scripts
    current_ms = instance.monotonic_ms - stats.exceeded_since_ms if stats.exceeded_since_ms else 0
    yield "total_eviction_exceeded_time", stats.eviction_exceeded_ms + current_ms
    yield "current_eviction_exceeded_time", current_ms
    yield "keyspace_hits", stats.keyspace_hits
    yield "keyspace_misses", stats.keyspace_misses
    yield "pubsub_channels", len(pubsub.channels)
    yield "pubsub_patterns", len(pubsub.patterns)
    yield "pubsubshard_channels", len(pubsub.shard_channels)
    yield "latest_fork_usec", stats.latest_fork_us
    yield "total_forks", stats.forks
    yield "migrate_cached_sockets", 0
    yield "slave_expires_tracked_keys", len(instance.replication.local_deadlines)
    yield "active_defrag_hits", 0
    yield "active_defrag_misses", 0
    yield "active_defrag_key_hits", 0
    yield "active_defrag_key_misses", 0
    yield "total_active_defrag_time", 0
    yield "current_active_defrag_time", 0
    yield "tracking_total_keys", len(tracking.readers)
    yield "tracking_total_items", tracking.total_items
    yield "tracking_total_prefixes", len(tracking.listeners)


def _processing(instance: Instance) -> Iterator[Field]:
    stats = instance.stats
    yield "unexpected_error_replies", stats.unexpected_error_replies
    yield "total_error_replies", stats.total_error_replies
    yield "dump_payload_sanitizations", 0
    yield "total_reads_processed", stats.reads_processed
    yield "total_writes_processed", stats.writes_processed
    yield "io_threaded_reads_processed", 0
    yield "io_threaded_writes_processed", 0
    yield "io_threaded_total_prefetch_batches", 0
    yield "io_threaded_total_prefetch_entries", 0
    yield (
        "client_query_buffer_limit_disconnections",
        stats.client_query_buffer_limit_disconnections,
    )
    yield (
        "client_output_buffer_limit_disconnections",
        stats.client_output_buffer_limit_disconnections,
    )
    yield "reply_buffer_shrinks", 0
    yield "reply_buffer_expands", 0
    yield "eventloop_cycles", stats.cycles
    yield "eventloop_duration_sum", stats.cycles_us
    yield "eventloop_duration_cmd_sum", stats.commands_us
    yield "chores_pending", len(instance.background_work)
    yield "chores_steps", instance.background_work.steps
    yield "chores_duration_sum", instance.background_work.used_us
    cycles = stats.cycle_rate.per_second()
    yield "instantaneous_eventloop_cycles_per_sec", round(cycles)
    mean_us = stats.cycle_us_rate.per_second() / cycles if cycles else 0
    yield "instantaneous_eventloop_duration_usec", round(mean_us)
    yield from _input(instance)
    yield from _slow_commands(instance)
    yield "acl_access_denied_auth", stats.acl_access_denied_auth
    yield "acl_access_denied_cmd", stats.acl_access_denied_cmd
    yield "acl_access_denied_key", stats.acl_access_denied_key
    yield "acl_access_denied_channel", stats.acl_access_denied_channel
    yield "acl_access_denied_tls_cert", stats.acl_access_denied_tls_cert


def _input(instance: Instance) -> Iterator[Field]:
    """How many requests arrive together."""
    stats = instance.stats
    yield "eventloop_cycles_with_clients_processing", stats.cycles_with_input
    yield "total_client_processing_events", stats.inputs_processed
    yield "avg_pipeline_length_sum", stats.batched_requests
    yield "avg_pipeline_length_cnt", stats.batches
    yield "avg_pipeline_length", f"{stats.batched_requests / max(stats.batches, 1):.2f}"


def _slow_commands(instance: Instance) -> Iterator[Field]:
    """What the slow log has recorded, kept or not."""
    slow = instance.stats.slow.values()
    yield "slowlog_commands_count", sum(times.count for times in slow)
    longest_us = max((times.longest_us for times in slow), default=0)
    yield "slowlog_commands_time_ms_max", f"{longest_us / 1000:.2f}"
    yield "slowlog_commands_time_ms_sum", f"{sum(times.us for times in slow) / 1000:.2f}"


def cpu(instance: Instance) -> Iterator[Field]:
    """Seconds of processor time."""
    facts = instance.host.facts()
    yield "used_cpu_sys", f"{facts.cpu_system_s:.6f}"
    yield "used_cpu_user", f"{facts.cpu_user_s:.6f}"
    yield "used_cpu_sys_children", f"{facts.cpu_system_children_s:.6f}"
    yield "used_cpu_user_children", f"{facts.cpu_user_children_s:.6f}"
    yield "used_cpu_sys_main_thread", f"{facts.cpu_system_main_thread_s:.6f}"
    yield "used_cpu_user_main_thread", f"{facts.cpu_user_main_thread_s:.6f}"


def tls(instance: Instance) -> Iterator[Field]:
    """The certificates in force. Source: Valkey 9.1; the days are Rillway's own."""
    now_s = instance.now_ms // 1000
    for certificate in instance.host.facts().certificates:
        name = f"tls_{certificate.owner}_cert"
        yield f"{name}_serial", certificate.serial
        yield f"{name}_expires_in_seconds", max(0, certificate.ends_s - now_s)
        yield f"{name}_expires_in_days", max(0, certificate.ends_s - now_s) // 86400


def modules(instance: Instance) -> Iterator[Field]:
    """There are none."""
    yield from ()


def commandstats(instance: Instance) -> Iterator[Field]:
    """Calls, time and refusals of every command that was called, and if it was ever slow."""
    for declared, counted in instance.stats.commands.items():
        if counted.calls or counted.rejected_calls or counted.failed_calls:
            per_call = counted.usec / counted.calls if counted.calls else 0
            text = f"calls={counted.calls},usec={counted.usec},usec_per_call={per_call:.2f}"
            text += f",rejected_calls={counted.rejected_calls},failed_calls={counted.failed_calls}"
            if slow := instance.stats.slow.get(declared):
                text += f",slowlog_count={slow.count},slowlog_time_ms_sum={slow.us / 1000:.2f}"
                text += f",slowlog_time_ms_max={slow.longest_us / 1000:.2f}"
            yield f"cmdstat_{declared.fullname.decode()}", text


def errorstats(instance: Instance) -> Iterator[Field]:
    """Errors by their first word."""
    for code, count in instance.stats.errors.items():
        yield f"errorstat_{code.decode('latin-1')}", f"count={count}"


def latencystats(instance: Instance) -> Iterator[Field]:
    """The percentiles of latency-tracking-info-percentiles, in microseconds."""
    wanted = instance.config.latency_tracking_info_percentiles
    names = [repr(percentile).removesuffix(".0") for percentile in wanted]
    for declared, counted in instance.stats.commands.items():
        if counted.histogram:
            latencies = counted.histogram.percentiles_us(wanted)
            pairs = zip(names, latencies, strict=True)
            text = ",".join(f"p{name}={latency_us:.3f}" for name, latency_us in pairs)
            yield f"latency_percentiles_usec_{declared.fullname.decode()}", text


def cluster(instance: Instance) -> Iterator[Field]:
    """Whether the server is a node of a cluster; CLUSTER INFO has the rest."""
    yield "cluster_enabled", int(instance.is_cluster)


def keyspace(instance: Instance) -> Iterator[Field]:
    """The databases that hold keys."""
    for db in instance.databases:  # 0.6 us for each that has keys: there may be thousands
        if db.values:
            average_ms = _average_ttl_ms(db, instance.now_ms) if db.expires.count else 0
            yield (
                f"db{db.index}",
                f"keys={len(db.values)},expires={db.expires.count},avg_ttl={average_ms}"
                f",subexpiry={len(db.field_expires)}",
            )


def _average_ttl_ms(db: Database, now_ms: int) -> int:
    sample = [max(0, when_ms - now_ms) for when_ms in db.expires.sample(TTL_SAMPLE)]
    return sum(sample) // len(sample)


# The names of INFO keysizes for the sizes of each type, in its order.
SIZE_DISTRIBUTIONS = {
    b"string": "strings_sizes",
    b"list": "lists_items",
    b"set": "sets_items",
    b"zset": "zsets_items",
    b"hash": "hashes_items",
    b"stream": "streams_items",
}


def policies(instance: Instance) -> Iterator[Field]:
    """What streams do by themselves, by their policies. Rillway's own."""
    timer = instance.feature(PolicyTimer)
    counts, streams = timer.counts, timer.streams()
    yield "streams_with_policy", len(streams)
    groups = chain.from_iterable(stream.groups.values() for stream in streams)
    yield "groups_with_policy", sum(group.policy is not None for group in groups)
    schedules = [stream.policy.schedule for stream in streams if stream.policy is not None]
    yield "scheduled_entries", sum(each.count for each in schedules if each is not None)
    yield "redelivered_total", counts.redelivered
    yield "dead_lettered_total", counts.dead_lettered
    yield "dead_letter_failures", counts.dead_letter_failures
    yield "retention_removed_total", counts.retention_removed
    yield "retention_paused", int(not timer.is_steady)
    yield "policy_steps_us", counts.steps_us


def access(instance: Instance) -> Iterator[Field]:
    """The audit log, and what limits of users have refused. Rillway's own."""
    trail, refused = instance.feature_if_used(AuditTrail), instance.feature(UserLimits).refused
    yield "audit_log_enabled", int(trail is not None and trail.is_used)
    yield "audit_log_lines", trail.lines if trail is not None else 0
    yield "audit_log_missed", trail.missed if trail is not None else 0
    is_failing = trail is not None and trail.is_failing
    yield "audit_log_last_write_status", "err" if is_failing else "ok"
    yield "user_limit_refused_connections", refused.connections
    yield "user_limit_refused_requests", refused.requests
    yield "user_limit_refused_output", refused.output


def keysizes(instance: Instance) -> Iterator[Field]:
    """A histogram of the sizes of keys: bytes of strings, items of others, in powers of two.

    It scans every key, so a plain INFO leaves it out. Source: Redis 8.10.
    """
    for db in instance.databases:
        counters: dict[bytes, Counter[int]] = {}
        for value in db.values.values():
            counter = counters.setdefault(value.type_name, Counter())
            counter[value.size.bit_length()] += 1
        for type_name, name in SIZE_DISTRIBUTIONS.items():
            if counts := counters.get(type_name):
                bins = [f"{_power_of_two(bits)}={counts[bits]}" for bits in sorted(counts)]
                yield f"db{db.index}_distrib_{name}", ",".join(bins)


def _power_of_two(bits: int) -> str:
    """The smallest number of `bits` bits, e.g. 512, 1K or 2M; 0 for no bits."""
    if not bits:
        return "0"
    thousands, rest = divmod(bits - 1, 10)
    return f"{1 << rest}{' KMGTPE'[thousands].strip()}"


# By name, in the order in which INFO prints them.
SECTIONS: dict[str, Section] = {
    "server": server,
    "clients": clients,
    "memory": memory,
    "persistence": persistence,
    "threads": threads,
    "stats": stats,
    "replication": replication,
    "cpu": cpu,
    "tls": tls,
    "modules": modules,
    "commandstats": commandstats,
    "errorstats": errorstats,
    "latencystats": latencystats,
    "cluster": cluster,
    "keyspace": keyspace,
    "policies": policies,
    "access": access,
    "keysizes": keysizes,
}
TITLES = {"cpu": "CPU", "tls": "TLS"}  # the others begin with a capital letter
ONLY_WHEN_ASKED_FOR = {"commandstats", "latencystats", "keysizes"}  # not part of a plain INFO

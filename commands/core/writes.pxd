# `opened` and `written` of commands/core/client.py, inline: usually no client watches, listens or
# waits.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from storage.keyspace.database cimport Database
from storage.types.value cimport Value


cdef inline Value opened(Client client, bytes key):
    cdef Database db = client.db
    cdef Instance instance = client.instance
    found = db.values.get(key)
    if found is None:
        return None
    cdef Value value = <Value>found
    if value.deadline or client.no_touch or instance.counts_accesses:
        return client.lookup_for_write(key)
    if not value.has_changed:
        db.memory.note(value)
    value.access_ms = instance.now_ms
    return value


cdef inline int written(Client client, bytes key, long event_class, bytes event) except -1:
    cdef Instance instance = client.instance
    instance.dirty += 1
    if instance.is_observed:
        client.modified(key, 0)
        client.notify(event_class, event, key)
    if instance.ready_keys.awaited:
        client.signal_key_as_ready(key)
    return 0

# The C types of commands/pubsub/messages.py.

from commands.core.client cimport Client
from protocol.request cimport Request

# The C types of commands/lists/elements.py.

from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request
from storage.types.lists cimport ListValue

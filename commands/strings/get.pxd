# The C types of commands/strings/get.py.

from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request
from storage.types.strings cimport StringValue

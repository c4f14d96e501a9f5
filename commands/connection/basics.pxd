# The C types of commands/connection/basics.py.

from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request

# The C types of commands/lists/lpop.py.

from commands.core.client cimport Client
from commands.lists.ends cimport pop
from protocol cimport replies
from protocol.request cimport Request
from storage.types.lists cimport ListValue

# The C types of commands/lists/lpush.py.

from commands.core.client cimport Client
from commands.lists.ends cimport push
from protocol cimport replies
from protocol.request cimport Request
from storage.types.lists cimport ListValue

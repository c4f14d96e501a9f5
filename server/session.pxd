# The C types of server/session.py.

from commands.core.client cimport Client
from protocol.cutter cimport Cutter
from server.dispatch cimport Dispatcher

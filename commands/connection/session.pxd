# The C types of commands/connection/session.py.

from commands.core.client cimport Client
from protocol.cutter cimport Cutter

# The C types of commands/connection/session.py.

from commands.client cimport Client
from protocol.cutter cimport Cutter

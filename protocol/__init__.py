"""The RESP protocol: parses requests, encodes replies, and holds the error texts.

The package also sees to it that `import cython` succeeds where Cython is not installed. Modules of
the hot core may import it before anything else, so every layer imports `protocol` first.
"""

import sys
from importlib.machinery import PathFinder

from protocol import uncompiled

# Cython's own module is left alone: other packages in the process may look for it. It is not
# imported here either; compiled modules do without.
if PathFinder.find_spec("cython") is None:
    sys.modules["cython"] = uncompiled

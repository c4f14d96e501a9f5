"""The server's packages by private names: `rillway.app.server`, and commands, storage, protocol.

Under names of their own they would shadow a user's modules, or be shadowed by them. A wheel has
them in this folder. In a checkout they are the folders at its root, which checkout.py loads.

Only `rillway/__main__.py` and `rillway.testing.FakeServer` import from here.
"""

import os
import sys

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "server")):
    from rillway.app.checkout import CheckoutFinder

    sys.meta_path.insert(0, CheckoutFinder())

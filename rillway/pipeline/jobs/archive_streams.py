"""`rillway archive`, for spark-submit: it takes the same arguments."""

from __future__ import annotations

import sys

from rillway.pipeline.archive.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m reliability.fuzz``."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Before anything is imported that would start threads, which a fork does not take along.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from reliability.fuzz.command import main

    sys.exit(main())

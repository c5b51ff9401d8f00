"""``python -m reliability.faults``."""

from __future__ import annotations

import sys

from reliability.faults.command import main

if __name__ == "__main__":
    sys.exit(main())

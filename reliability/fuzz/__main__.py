"""``python -m reliability.fuzz``."""

from __future__ import annotations

import sys

from reliability.fuzz.command import main

if __name__ == "__main__":
    sys.exit(main())

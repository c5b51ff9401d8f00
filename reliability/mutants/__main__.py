"""``python -m reliability.mutants``."""

from __future__ import annotations

import sys

from reliability.mutants.command import main

if __name__ == "__main__":
    sys.exit(main())

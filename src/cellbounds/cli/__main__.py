"""`python -m cellbounds.cli`."""

from cellbounds.cli import main

main()

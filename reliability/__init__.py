"""What keeps the library reliable: machinery that breaks it on purpose and counts what holds."""

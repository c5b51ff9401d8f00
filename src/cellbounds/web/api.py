"""The same for programs, as JSON."""

ROUTES: list[object] = []

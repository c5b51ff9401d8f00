"""Pages for people who decide and do not type, and the same as JSON: ``cellbounds serve``."""

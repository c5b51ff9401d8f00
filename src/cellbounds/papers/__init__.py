"""The papers' own small tables, and their published results beside ours."""

from cellbounds.papers.tables import EXAMPLES, example_path, example_table

__all__ = ["EXAMPLES", "example_path", "example_table"]

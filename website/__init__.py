"""The documentation site: what mkdocs needs besides the pages in docs/, and the pictures."""

"""From raw figures to one Markdown document with plots, and the targets above it."""

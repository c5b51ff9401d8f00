"""Many records, many processes, many cells, and what it takes to start."""

"""Benchmarks of counting tables, of their exact posterior, and of drawing them."""

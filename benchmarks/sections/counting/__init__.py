"""Counting tables, their exact posterior, and drawing them."""

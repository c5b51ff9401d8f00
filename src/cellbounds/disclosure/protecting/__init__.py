"""Protecting: which figures to hide so that an attacker cannot work out the small ones."""

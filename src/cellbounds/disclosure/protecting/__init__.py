"""Suppression: the fewest figures hidden, against an attacker who is named."""

from cellbounds.disclosure.protecting.protected import HiddenCell, Protected, Unprotectable
from cellbounds.disclosure.protecting.protection import protect

__all__ = ["HiddenCell", "Protected", "Unprotectable", "protect"]

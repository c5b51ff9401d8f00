"""Releases that fall apart at exact margins: parts are answered alone and glued together."""

from cellbounds.methods.gluing.method import Gluing

__all__ = ["Gluing"]

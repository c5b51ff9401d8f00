"""Parameters that are explained together: each with its own type and default on the page."""

from __future__ import annotations

from typing import Any

import griffe

__all__ = ["OwnParameters"]


class OwnParameters(griffe.Extension):  # type: ignore[misc]  # in the docs extra alone
    """Give ``a, b : text`` the types and defaults of `a` and `b`; else both have those of `a`."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Correct what was understood of a function's docstring."""
        for section in func.docstring.parsed if func.docstring else ():
            if section.kind is griffe.DocstringSectionKind.parameters:
                for said in section.value:
                    own = next((one for one in func.parameters if one.name == said.name), None)
                    if own is not None:
                        said.annotation, said.value = own.annotation, own.default

"""The digest of a release, worked out anew from the statements of a certificate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import Statement
from cellbounds.errors import InvalidInput

__all__ = ["digest"]


def digest(space: Space, statements: Sequence[Statement]) -> str:
    """SHA-256 of the domain and of what the statements mean, in whatever order they stand."""
    levels, groups = space.definitions({name for one in statements for name in one.names})
    try:
        said = sorted(json.dumps(one.meaning) for one in statements)
    except ValueError:  # Python writes no longer ones
        raise InvalidInput(
            "a statement has numbers of more than 4300 digits once they share a denominator; "
            "write shorter ones"
        ) from None
    content = [levels, said, groups] if groups else [levels, said]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()

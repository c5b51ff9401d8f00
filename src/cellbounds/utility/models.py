"""Hierarchical log-linear models: the margins they fit, and how many parameters they have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements.notation import names_text, parse

__all__ = ["Margins", "count_parameters", "generators", "model_text", "rank_on"]

Margins = str | Iterable[str | Iterable[str]]
"""A model: ``"[A,B][B,C]"``, ``["[A,B]", "[B,C]"]`` or ``[["A", "B"], ["B", "C"]]``."""

MOST_PARAMETERS = 1500
"""Parameters up to which they are counted among the cells that may be occupied."""

PRIME = 2**61 - 1
"""Ranks are found modulo this; it would have to divide a determinant to mislead."""

BLOCK = 4096
"""Cells whose part of the design is held at once."""


def generators(domain: Domain, margins: Margins) -> tuple[tuple[str, ...], ...]:
    """The largest margins of a model, in the order given."""
    wanted: list[tuple[str, ...]] = []
    for one in _pieces(margins) if isinstance(margins, str) else margins:
        names = _margin(one) if isinstance(one, str) else tuple(one)
        if not names:
            raise InvalidInput(f"the model {margins!r} has a margin of no variables; name them")
        wanted.append(domain.distinct(names))
    if not wanted:
        raise InvalidInput(f"the model {margins!r} names no margin; write it like '[A,B][B,C]'")
    sets = [frozenset(names) for names in wanted]
    return tuple(
        names
        for place, names in enumerate(wanted)
        if not any(sets[place] < other for other in sets) and sets[place] not in sets[:place]
    )


def _pieces(text: str) -> Iterator[str]:
    """The bracketed parts of a text; brackets in quotes belong to a name."""
    piece, quoted = "", False
    for character in text:
        piece += character
        quoted ^= character == '"'
        if character == "]" and not quoted:
            yield piece.strip()
            piece = ""
    if piece.strip():
        yield piece.strip()


def _margin(text: str) -> tuple[str, ...]:
    spoken = parse(text)
    if not spoken.is_margin or spoken.base is not None or spoken.below is not None:
        raise InvalidInput(
            f"{text!r} is not a margin of a model; write margins without anything after them, "
            "like '[A,B][B,C]'"
        )
    return spoken.responses


def model_text(margins: Sequence[Sequence[str]]) -> str:
    """A model in the notation."""
    return "".join(f"[{names_text(names)}]" for names in margins)


def _terms(domain: Domain, margins: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Every set of variables that a model has parameters for, as axes; the constant first."""
    found = {
        axes
        for names in margins
        for size in range(len(names) + 1)
        for axes in itertools.combinations(sorted(domain.axes(names)), size)
    }
    return sorted(found, key=lambda axes: (len(axes), axes))


def count_parameters(domain: Domain, margins: Sequence[Sequence[str]]) -> int:
    """The parameters of a model, the constant included, if no cell is left out.

    A term has the product over its variables of their numbers of levels less one; a model has
    the terms that are contained in one of its margins.
    """
    shape = domain.shape
    return sum(math.prod(shape[axis] - 1 for axis in axes) for axes in _terms(domain, margins))


def rank_on(domain: Domain, margins: Sequence[Sequence[str]], kept: BoolArray) -> int | None:
    """The parameters that can be told apart on the cells in `kept`; None if that is much work.

    The rank of the design is that of its matrix of products, whose entries are counts of cells:
    whole numbers, so that the rank can be found without rounding.
    """
    cells = np.argwhere(kept)
    if len(margins) == 1:
        return len(cells)
    size = count_parameters(domain, margins)
    if size > MOST_PARAMETERS:
        return None
    from flint import nmod_mat

    terms = _terms(domain, margins)
    products = np.zeros((size, size))
    for start in range(0, len(cells), BLOCK):
        design = _design(domain.shape, terms, cells[start : start + BLOCK])
        products += design.T @ design
    entries = products.astype(np.int64).ravel().tolist()
    return int(nmod_mat(size, size, entries, PRIME).rank())


def _design(
    shape: tuple[int, ...], terms: Sequence[tuple[int, ...]], cells: np.ndarray
) -> FloatArray:
    """Columns of zeros and ones: whether a cell has given levels, none of them the first."""
    ones = np.ones((len(cells), 1))
    levels = [cells[:, [axis]] == np.arange(1, size) for axis, size in enumerate(shape)]
    blocks = []
    for axes in terms:
        block = ones
        for axis in axes:
            block = (block[:, :, None] * levels[axis][:, None, :]).reshape(len(cells), -1)
        blocks.append(block)
    return np.hstack(blocks)

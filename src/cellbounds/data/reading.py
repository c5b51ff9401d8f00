"""Tables of counts from files of any size, folders, frames, engines and records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.microdata.sources import is_paths, source_of
from cellbounds.data.microdata.tally import MISSING, Selection, Tally, joined_tally, selection_of
from cellbounds.data.storage import DENSE_LIMIT, Cells
from cellbounds.data.table import Table, sparse_of
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.memory import size_of

_SMALL = 2**12
"""Cells that are listed one by one at once: about all questions need them so."""


def read_table(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    count: str | None = "count",
    variables: Sequence[str] | None = None,
    levels: Mapping[str, Sequence[Label]] | None = None,
    weight: str | None = None,
    round_weight: bool = False,
    missing: str = "error",
    structural: str | Iterable[Sequence[Label]] | None = None,
    domain: Domain | None = None,
    encoding: str = "utf-8",
    delimiter: str = ",",
    sheet: str | None = None,
    memory: str | None = None,
) -> Table:
    """Read a table of counts, or count records.

    Parameters
    ----------
    source
        Path of a tidy CSV file (plain or gzip), Excel workbook or Parquet file; a folder of CSV
        files or of Parquet files, a pattern such as ``"data/*.parquet"``, or a list of paths, whose
        files are read one after another as one table; a pandas, polars or Arrow frame; a DuckDB
        relation, an Ibis expression or a lazy frame, whose engine then does the counting. There is
        one column for each variable, and a column of counts. Or an array of counts, one axis a
        variable.
    count
        Name of the column of counts; None if each line is one record, to be tabulated.
    variables
        The columns to use, in this order; the others are summed over, and of records not even
        read. All, unless given.
    levels
        The levels of some variables, in order, whether or not they occur. A label that is not
        among them is refused.
    weight
        Of records: name of the column that says how many persons each stands for. Whole numbers,
        added up exactly.
    round_weight
        Take weights that are fractions, too: decimals are added up exactly, and the sum of each
        cell is rounded to a whole number, halves up.
    missing
        What an empty field, a missing value or a NaN among the labels means: ``"error"`` refuses
        it, ``"drop"`` leaves out the records that have one in a column that is used, ``"level"``
        makes ``"(missing)"`` the last level of the variable.
    structural
        Cells that cannot hold anybody: ``"missing"`` if the cells that the file does not list
        or lists without a count are such, or the cells as tuples of labels. Otherwise cells that
        are not listed are sampling zeros, and a count must not be missing.
    domain
        Variables and levels of an array. Without it they are named by `variables` (or ``"v1"``,
        ``"v2"``, ...) and ``"1"``, ``"2"``, ...
    encoding, delimiter
        How to read a CSV file.
    sheet
        The sheet of an Excel workbook; needed if several are not empty.
    memory
        Most memory for the cells that occur while they are counted, such as ``"2GiB"``; half of
        what is free, unless given. More of them are refused.

    Notes
    -----
    What a file holds decides how it is read; a file whose name says something else is refused.
    Files larger than memory are read a part at a time, and by Arrow if it is installed.

    Levels stand in the order in which they first appear; a categorical column of a frame or a
    Parquet file keeps the order of its categories. The files of a folder follow each other in the
    order of their paths, and names of folders such as ``year=2024`` are no columns. An engine
    keeps no order of lines: there, levels stand in the order of their values.

    Labels read from CSV are text, exactly as written, but for one case: if no field of the files
    begins like a formula, an apostrophe before such a beginning (``'=A1``) is taken away. That is
    how :meth:`Table.write <cellbounds.Table.write>` and others make CSV safe for spreadsheets.

    Labels read from Excel are text too. Text cells stay as they are; numbers become their digits,
    with the zeros in front that a format such as ``000`` shows; dates become ``2024-01-31`` and
    truth values ``TRUE`` and ``FALSE``, whatever their format. Formulas count as their stored
    value. The first line that is not empty is the header, empty lines are skipped, hidden ones
    are not.

    Labels of frames, engines and Parquet files keep their types.

    Examples
    --------
    >>> from cellbounds import datasets, read_table
    >>> table = read_table(datasets.path("delinquent"))
    >>> table.domain
    Domain(county[4] x education[4])

    Records with weights, from a frame:

    >>> import polars
    >>> people = polars.DataFrame({"age": ["old", "young", None], "w": [3, 5, 2]})
    >>> table = read_table(people, count=None, weight="w", missing="level")
    >>> table.domain.levels("age"), table.counts
    (('old', 'young', '(missing)'), array([3, 5, 2]))
    """
    if isinstance(source, np.ndarray | list | tuple) and not is_paths(source):
        alone = {"levels": levels, "weight": weight, "round_weight": round_weight or None}
        for name, value in alone.items():
            if value is not None:
                raise InvalidInput(
                    f"{name}={value!r} with an array of counts; it goes with files, frames and "
                    "records"
                )
        return _from_array(source, domain, variables, structural)
    if domain is not None:
        raise InvalidInput("domain= goes with an array; files and frames name their variables")
    try:
        limit = None if memory is None else size_of(memory)
    except (InvalidInput, TypeError):
        raise InvalidInput(f"memory={memory!r}; give a text, such as '2GiB' or '500MB'") from None
    records = source_of(source, encoding=encoding, delimiter=delimiter, sheet=sheet)
    selection = selection_of(
        records.where,
        records.header,
        count=count,
        variables=variables,
        weight=weight,
        rounded=round_weight,
        missing=missing,
        uncounted=isinstance(structural, str) and structural == "missing",
    )
    table = _table(records.tally(selection, limit), selection, levels or {}, structural)
    return table.margin(selection.names) if selection.names != table.domain.names else table


def _from_array(
    source: Any,
    domain: Domain | None,
    variables: Sequence[str] | None,
    structural: str | Iterable[Sequence[Label]] | None,
) -> Table:
    shape = np.shape(np.array(source, dtype=object))
    if not shape or 0 in shape:
        raise InvalidInput(f"an array of counts of shape {shape}; it needs at least one cell")
    if domain is None:
        names = [f"v{axis}" for axis in range(1, len(shape) + 1)]
        if variables is not None:
            names = list(variables)
        if len(set(names)) != len(shape):
            raise InvalidInput(
                f"variables {names!r} for an array of {len(shape)} axes; name each axis once"
            )
        levels = [[str(level) for level in range(1, size + 1)] for size in shape]
        domain = Domain(dict(zip(names, levels, strict=True)))
    elif variables is not None:
        raise InvalidInput("an array with domain= needs no variables=; the domain names them")
    if isinstance(structural, str):
        raise InvalidInput(
            f"structural={structural!r} with an array; list the cells (tuples of labels)"
        )
    return _listed_table(domain, source, structural or ())


def _listed_table(domain: Domain, counts: Any, structural: Iterable[Sequence[Label]]) -> Table:
    """A table all of whose cells are at hand."""
    mask = np.zeros(domain.shape, dtype=bool)
    for labels in structural:
        mask[domain.index(tuple(labels))] = True
    return Table(domain, counts, structural=mask)


def _table(
    tally: Tally,
    selection: Selection,
    levels: Mapping[str, Sequence[Label]],
    structural: str | Iterable[Sequence[Label]] | None,
) -> Table:
    """A table from the cells that occur: nothing is made of the size of the domain."""
    if isinstance(structural, str) and structural != "missing":
        raise InvalidInput(
            f"structural={structural!r}; give 'missing' or a list of cells (tuples of labels)"
        )
    if levels or selection.missing != "error":
        tally = _with_levels(tally, selection, levels)
    domain = Domain(tally.levels)
    lines = tally.lines
    is_records = selection.amount is None or selection.weighted
    if not is_records and lines.counts.max(initial=0) > 1:
        most = int(np.argmax(lines.counts))
        labels = domain.labels([int(column[most]) for column in lines.columns()])
        raise InvalidInput(
            f"{tally.where}: the cell {labels} is listed more than once; list each cell once, or "
            "give count=None (--records) if lines are records"
        )
    if isinstance(structural, str):
        return _closed_elsewhere(tally, domain)
    if domain.size > _SMALL:
        return Table.holding(domain, sparse_of(domain, tally.sums, structural or ()))
    return _listed_table(domain, tally.sums.to_array(tally.sums.counts.dtype), structural or ())


def _closed_elsewhere(tally: Tally, domain: Domain) -> Table:
    """A table whose cells are structural zeros unless they have a count."""
    if domain.size > DENSE_LIMIT:
        raise InvalidInput(
            f"{tally.where}: structural='missing' would make structural zeros of most of "
            f"{domain.size} cells, which is done up to {DENSE_LIMIT}; choose fewer columns with "
            "variables=[...], or list the structural zeros"
        )
    # Every record has a count.
    listed = tally.lines if tally.counted is None else tally.counted
    counts = tally.sums.to_array(tally.sums.counts.dtype)
    return Table(domain, counts, structural=~listed.to_array(bool))


def _with_levels(tally: Tally, selection: Selection, given: Mapping[str, Sequence[Label]]) -> Tally:
    """The same cells over the levels given, missing labels left out or a level of their own."""
    for name in given:
        if name not in tally.levels:
            raise InvalidInput(
                f"levels= names {name!r}, which is no variable that is read; the variables are "
                f"{', '.join(map(repr, tally.levels))}"
            )
    if selection.missing == "drop":
        tally = _without_missing(tally)
    if not given and not any(None in labels for labels in tally.levels.values()):
        return tally
    levels: dict[str, list[Any]] = {}
    moves: list[IntArray] = []
    for axis, (name, labels) in enumerate(tally.levels.items()):
        levels[name] = _levels(tally, name, labels, given.get(name))
        places = {label: place for place, label in enumerate(levels[name])}
        move = [places.get(MISSING if label is None else label, -1) for label in labels]
        moves.append(np.array(move, dtype=np.int64))
        if name in given and -1 in move:
            _check_given(tally, axis, move, levels[name])
    return joined_tally(tally.where, levels, [(tally, moves)])


def _levels(tally: Tally, name: str, labels: list[Any], given: Sequence[Label] | None) -> list[Any]:
    """The levels of a variable: those that were given or occur; the missing label is the last."""
    if None in labels and MISSING in labels:
        raise InvalidInput(
            f"{tally.where}: {name!r} has missing values and a label {MISSING!r} of its own; give "
            "missing values another label first"
        )
    levels = [label for label in labels if label is not None]
    if given is not None:
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            raise InvalidInput(f"levels of {name!r} are given as {given!r}; give a list of them")
        levels = list(given)
        if not levels:
            raise InvalidInput(f"levels of {name!r} are an empty list; give at least one")
    return [*levels, MISSING] if None in labels and MISSING not in levels else levels


def _check_given(tally: Tally, axis: int, move: list[int], levels: list[Any]) -> None:
    """Refuse a label that occurs and is not among the levels given; others may be declared."""
    name, labels = list(tally.levels.items())[axis]
    for place in np.unique(tally.lines.column(axis)).tolist():
        if move[place] < 0:
            kinds = {type(labels[place]).__name__, *(type(label).__name__ for label in levels)}
            hint = "" if len(kinds) == 1 else " (labels of CSV and Excel files are text)"
            raise InvalidInput(
                f"{tally.where}: the label {labels[place]!r} of {name!r} is not among its levels= "
                f"given{hint}; add it, or correct the data"
            )


def _without_missing(tally: Tally) -> Tally:
    """The records all of whose labels are there; labels of the others stay levels."""
    levels = {
        name: [label for label in labels if label is not None]
        for name, labels in tally.levels.items()
    }
    moves = [
        np.cumsum([label is not None for label in labels]) - 1 for labels in tally.levels.values()
    ]
    sums = _present(tally.sums, tally)
    lines = sums if tally.lines is tally.sums else _present(tally.lines, tally)
    complete = Tally(tally.where, tally.levels, sums, lines)
    if not len(lines):
        raise InvalidInput(
            f"{tally.where}: missing='drop' leaves no record, as every one lacks a label; choose "
            "fewer columns with variables=[...], or give missing='level'"
        )
    return joined_tally(tally.where, levels, [(complete, moves)])


def _present(cells: Cells, tally: Tally) -> Cells:
    """The cells all of whose labels are there."""
    present = np.ones(len(cells), dtype=bool)
    for axis, labels in enumerate(tally.levels.values()):
        if None in labels:
            present &= cells.column(axis) != labels.index(None)
    return cells.chosen(present)

"""What is read whole: files and pipes of any origin, within limits.

A file that somebody else wrote may be of any size and depth, may unpack to a thousand times its
size, and may be no file at all. Whatever is read as a whole (releases, figures, policies,
certificates, workbooks, small tables) is read here, and what exceeds a limit is refused before it
is unpacked or parsed. Records that are read a part at a time have no limit of bytes.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cellbounds.errors import InvalidInput
from cellbounds.runtime.memory import size_of, size_text

if TYPE_CHECKING:
    import gzip

VARIABLE = "CELLBOUNDS_LIMITS"
"""The variable of the environment that raises limits, such as ``bytes=1GiB,cells=100000000``."""

LIMITS = {"bytes": 2**26, "nesting": 64, "digits": 1000, "cells": 2**24}
"""What is read unless somebody allows more: 64 MiB take up to 1.5 GiB as Python values."""

HIGHEST = {"nesting": 200, "digits": 4300}
"""More is not possible: Python itself reads no deeper and no longer numbers."""

TOML_SHARE, YAML_SHARE = 16, 256
"""Parts of the bytes that are read of formats whose parsers take more memory for each byte."""

GZIP = b"\x1f\x8b"
"""How a packed file begins."""

_BLOCK = 2**20

_NAMES = {"bytes": "1GiB", "nesting": "100", "digits": "4000", "cells": "100000000"}

_JSON_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_TOML_TEXT = re.compile(
    rb'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+(?:"{3,5}|\\?\Z)'
    rb"|'''.*?(?:'{3,5}|\Z)"
    rb'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+(?:"|(?=\n)|\\?\Z)'
    rb"|'[^'\n]*+'?|\#[^\n]*+",
    re.DOTALL,
)
"""Texts and comments; one that does not end goes to the end, so that a look takes linear time."""

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


def limit(name: str) -> int:
    """How much of something is read: bytes, nesting, digits or cells.

    Raises
    ------
    InvalidInput
        If the variable that raises limits is not written as it should be.

    Examples
    --------
    >>> limit("bytes"), limit("nesting")
    (67108864, 64)
    """
    most = LIMITS[name]
    text = os.environ.get(VARIABLE, "")
    for part in text.replace(",", " ").split():
        key, _, value = part.partition("=")
        try:
            if key not in LIMITS or not value[:1].isdecimal():
                raise InvalidInput(part)
            size = size_of(value)
        except InvalidInput:
            raise InvalidInput(
                f"{VARIABLE}={text!r}: {part!r} is no limit; write it like "
                f"{','.join(f'{name}={size}' for name, size in _NAMES.items())}"
            ) from None
        if size > HIGHEST.get(key, size):
            raise InvalidInput(f"{VARIABLE}: {part}; {key} can be {HIGHEST[key]} at most")
        if key == name:
            most = size
    return most


def _exceeded(where: object, what: str, name: str) -> InvalidInput:
    return InvalidInput(
        f"{where} {what}; if it is meant to be like this, allow more with the variable "
        f"{VARIABLE}={name}={_NAMES[name]} in the environment"
    )


def check_ordinary(path: str | Path) -> os.stat_result:
    """Refuse what is neither a file nor a pipe: folders, and devices, which may never end."""
    if not str(path):
        raise InvalidInput("the name of a file is empty; name a file")
    try:
        status = Path(path).stat()
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}") from None
    except ValueError:
        raise InvalidInput(f"{str(path)!r} is no name of a file; correct it") from None
    if stat.S_ISDIR(status.st_mode):
        raise InvalidInput(f"{path} cannot be read: it is a directory; give one file")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        raise InvalidInput(f"{path} cannot be read: it is a device; give a file or a pipe")
    return status


@contextmanager
def opened(path: str | Path) -> Iterator[io.BufferedReader]:
    """A file or a pipe to read from; errors on the way are said in our words."""
    check_ordinary(path)
    try:
        with Path(path).open("rb") as stream:
            yield stream
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}") from None


def read_bytes(path: str | Path, *, share: int = 1) -> bytes:
    """Everything that a file or a pipe holds, read once, up to a share of the limit.

    Examples
    --------
    >>> import os
    >>> try:
    ...     read_bytes(os.devnull)
    ... except InvalidInput as problem:
    ...     print(problem)
    /dev/null cannot be read: it is a device; give a file or a pipe
    """
    with opened(path) as stream:
        return _bounded(stream, path, share)


def unpacked(path: str | Path, raw: bytes) -> bytes:
    """What a packed file holds, up to the limit."""
    import gzip

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
            return _bounded(stream, path, 1, ", unpacked,")
    except (OSError, EOFError, zlib.error):
        raise damaged_gzip(path) from None


def damaged_gzip(path: str | Path) -> InvalidInput:
    """The error for a packed file that cannot be unpacked."""
    return InvalidInput(f"{path} is a damaged gzip file; fetch or pack it again")


def _bounded(
    stream: BinaryIO | gzip.GzipFile, path: str | Path, share: int, how: str = ""
) -> bytes:
    most = limit("bytes") // share
    parts, size = [], 0
    while part := stream.read(min(_BLOCK, most + 1 - size)):
        parts.append(part)
        size += len(part)
        if size > most:
            raise _too_large(path, how, most)
    return b"".join(parts)


def _too_large(path: str | Path, how: str, most: int) -> InvalidInput:
    what = f"holds{how} more than {size_text(most)}, which is not read at once"
    return _exceeded(path, what, "bytes")


def check_archive(path: str | Path, raw: bytes) -> None:
    """Refuse a zip archive, such as a workbook, that unpacks to more than the limit."""
    import zipfile

    most = limit("bytes")
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        # What is unpacked is cut at the size that the archive says.
        if sum(member.file_size for member in archive.infolist()) > most:
            raise _too_large(path, ", unpacked,", most)


def check_cells(cells: int, where: object) -> None:
    """Refuse more cells than are laid out one by one."""
    most = limit("cells")
    if cells > most:
        raise _exceeded(
            where, f"has more than {most} cells, which are not laid out one by one", "cells"
        )


def utf8_text(raw: bytes, where: object) -> str:
    """Text in UTF-8, without the mark that some editors put at its beginning."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{where} is not UTF-8 text; save it as UTF-8") from None


def read_toml(path: str | Path, parse_float: Callable[[str], Any] = str) -> dict[str, Any]:
    """The content of a TOML file; numbers with a point stay text, since floats are not exact."""
    import tomllib

    raw = read_bytes(path, share=TOML_SHARE)
    text = utf8_text(raw, path)
    plain = _TOML_TEXT.sub(b'"', raw)
    _check_shape(plain, path)
    most = limit("nesting")
    # Each part of a dotted key is a table in a table.
    if re.search(rb"\.(?:[^.,=\n\[\]{}]*+\.){%d}" % most, plain):
        raise _too_deep(path, most)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"{path} is not a TOML file: {problem}") from None


def parse_json(raw: bytes, where: object, **hooks: Any) -> Any:
    """Values written in JSON.

    Raises
    ------
    InvalidInput
        If a limit is exceeded.
    ValueError
        If it is not JSON.
    """
    _check_shape(_JSON_TEXT.sub(b'"', raw), where)
    return json.loads(raw.decode("utf-8"), **hooks)


def _check_shape(plain: bytes, where: object) -> None:
    """Refuse deep nesting and long numbers in what is left without texts and comments."""
    most = limit("nesting")
    left = plain.translate(_BRACKETS, _OTHERS)
    for _ in range(most):
        size = len(left)
        left = left.replace(b"[]", b"")  # the innermost pairs
        if len(left) == size:
            break
    if b"[]" in left or len(left) > most:
        raise _too_deep(where, most)
    digits = limit("digits")
    if re.search(rb"\b[0-9][0-9A-Za-z_]{%d}" % digits, plain):
        raise _exceeded(where, f"has a number of more than {digits} digits", "digits")


def _too_deep(where: object, most: int) -> InvalidInput:
    return _exceeded(where, f"is nested more than {most} deep, or not closed", "nesting")

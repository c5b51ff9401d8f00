"""Finding a confidential count in files that should not hold it."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Secret"]

_MEMBER = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Secret:
    """A count that stands in one confidential cell and nowhere else.

    Examples
    --------
    >>> Secret(48611).is_in(b"Alpha,Low,48611"), Secret(48611).is_in(b"a3f48611c")
    (True, False)
    """

    count: int

    def is_in(self, content: bytes) -> bool:
        """Whether it can be read from bytes: as they are, or unpacked if they are a zip's."""
        text = f"{self.count:_}".encode().replace(b"_", rb"[,. _']?")
        pattern = re.compile(rb"(?<![0-9A-Za-z])" + text + rb"(?![0-9A-Za-z])")
        return any(pattern.search(part) for part in (content, *_unpacked(content)))

    def is_in_file(self, path: Path) -> bool:
        """Whether it can be read from a file."""
        return self.is_in(path.read_bytes())

    def files(self, place: Path) -> Iterator[Path]:
        """The files that hold it: the place itself, or what is below it."""
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and not path.is_symlink() and self.is_in_file(path):
                yield path


def _unpacked(content: bytes) -> Iterator[bytes]:
    """What the members of a zip hold, also of one whose end is missing."""
    at = content.find(_MEMBER)
    while at >= 0:
        if at + 30 <= len(content):
            name, extra = struct.unpack_from("<HH", content, at + 26)
            packed = content[at + 30 + name + extra :]
            try:
                yield zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed)
            except zlib.error:  # stored as it is: found without unpacking
                yield b""
        at = content.find(_MEMBER, at + 4)

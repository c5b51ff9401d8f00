"""Where a ledger is: a file, or a database by its URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from cellbounds.errors import InvalidInput

NAME = "main"
"""The name of a ledger in its database, unless its URL gives another: ?ledger=NAME."""

LONGEST_NAME = 200

_POSTGRES = {"postgres", "postgresql", "postgresql+psycopg"}


@dataclass(frozen=True, slots=True)
class Place:
    """A file or a database server, and the ledger's name in it.

    Attributes
    ----------
    file
        The SQLite file; None for a server.
    url
        The URL of the server, with its password; None for a file.
    name
        Several ledgers may share a database.
    shown
        The place as messages may name it: never with a password.
    """

    file: Path | None
    url: str | None = field(repr=False)
    name: str
    shown: str

    @classmethod
    def of(cls, where: str | Path) -> Place:
        """Read a path or a URL.

        Examples
        --------
        >>> Place.of("census.ledger").shown
        'census.ledger'
        >>> place = Place.of("postgresql://ann:secret@db.example/team?ledger=census")
        >>> place.name, place.shown
        ('census', 'postgresql://ann@db.example/team (census)')
        """
        if isinstance(where, Path):
            return cls(where.absolute(), None, NAME, str(where))
        if not isinstance(where, str) or not where.strip():
            raise InvalidInput(
                f"the ledger is {where!r}; give a file, or a URL such as "
                "postgresql://user@host/database"
            )
        scheme, separator, _ = where.partition("://")
        if not separator:
            return cls(Path(where).absolute(), None, NAME, where)
        if scheme == "sqlite":
            return cls._sqlite(where)
        if scheme in _POSTGRES:
            return cls._postgres(where)
        raise InvalidInput(
            f"a ledger at {scheme}://; give a file, sqlite:///file, or "
            "postgresql://user@host/database"
        )

    @classmethod
    def _sqlite(cls, where: str) -> Place:
        address, _, query = where.removeprefix("sqlite://").partition("?")
        file, options = unquote(address.removeprefix("/")), dict(parse_qsl(query))
        name = _name(options.pop("ledger", NAME))
        if not file or file == ":memory:" or options:
            raise InvalidInput(
                "the URL of a ledger in a SQLite file is sqlite:///relative or sqlite:////absolute,"
                " with ?ledger=NAME if the file holds several"
            )
        return cls(Path(file).absolute(), None, name, file if name == NAME else f"{file} ({name})")

    @classmethod
    def _postgres(cls, where: str) -> Place:
        try:
            parts = urlsplit(where)
            port = parts.port
        except ValueError:
            # The text of the error may repeat the password.
            raise InvalidInput(
                "the URL of the ledger cannot be read; write "
                "postgresql://user:password@host:port/database, with special characters of the "
                "password as %XX"
            ) from None
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        name = _name(options.pop("ledger", NAME))
        query = f"?{urlencode(options, quote_via=quote)}" if options else ""
        # By hand: the standard library leaves the slashes out where there is no host.
        url = f"postgresql+psycopg://{parts.netloc}{parts.path}{query}"
        host = options.get("host", parts.hostname or "local")
        user = f"{parts.username}@" if parts.username else ""
        server = f"{user}{host}{'' if port is None else f':{port}'}{parts.path}"
        shown = f"postgresql://{server}"
        return cls(None, url, name, shown if name == NAME else f"{shown} ({name})")


def _name(given: str) -> str:
    if not given.strip() or len(given) > LONGEST_NAME or not given.isprintable():
        raise InvalidInput(
            f"a ledger named {given!r}; give a name of 1 to {LONGEST_NAME} printable characters"
        )
    return given

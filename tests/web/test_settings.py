"""What a server is told on the command line: refused before it listens, or kept."""

from __future__ import annotations

import os

import pytest

import cellbounds as cb
from cellbounds.errors import InvalidInput
from cellbounds.ledger import Ledger
from cellbounds.web.serving import opened_site
from cellbounds.web.settings import Settings

TABLE = cb.Table(cb.Domain({"county": ["Alpha", "Beta"]}), [1, 9])


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": 65536},
        {"port": -1},
        {"workers": 0},
        {"upload": 0},
        {"thorough": float("nan")},
        {"thorough": float("inf")},
        {"thorough": 0.0},
        {"proxies": ("everybody",)},
        {"header": ""},
        {"header": "X-User\nX-Other"},
        {"names": ("",)},
        {"names": ("a b",)},
    ],
    ids=str,
)
def test_settings_that_mean_nothing(wrong):
    with pytest.raises(InvalidInput, match="give"):
        Settings(**wrong)


def test_what_is_served_is_there_and_ends(tmp_path):
    file, pipe = tmp_path / "table.csv", tmp_path / "pipe"
    TABLE.write(file)
    os.mkfifo(pipe)
    Ledger.create(tmp_path / "kept.ledger", TABLE, keep_table=True, who="ann")
    for what, tables in (
        ("", ()),
        (" ", ()),
        ("/dev/zero", ()),
        (str(pipe), ()),
        (str(tmp_path / "absent"), ()),
        (str(file), ("table.csv",)),
        (str(tmp_path / "kept.ledger"), ("/dev/zero",)),
        (str(tmp_path / "kept.ledger"), (str(tmp_path / "absent.csv"),)),
        (str(tmp_path / "kept.ledger"), ("",)),
    ):
        with pytest.raises(InvalidInput), opened_site(what, Settings(), tables=tables):
            pytest.fail(f"{what!r} {tables} was served")
    for what in (str(file), str(tmp_path / "kept.ledger")):
        with opened_site(what, Settings()) as site:
            assert site.shelf.visible("ann")

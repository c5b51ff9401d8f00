"""What unit tests of the command line share."""

from __future__ import annotations

import sys

import pytest

from cellbounds import cli


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; returns exit status, standard output, standard error."""

    def runs(*arguments):
        monkeypatch.setattr(sys, "argv", ["cellbounds", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        caught = capsys.readouterr()
        return left.value.code, caught.out, caught.err

    return runs

"""`serve`: everything in the browser, on this machine or for a team."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from cellbounds.cli import options
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import check_outputs, say
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.files import library, write_whole


@options.command
@click.argument("what", required=False, metavar="[LEDGER|TABLE|FOLDER]")
@option(
    "--table PATH",
    "The confidential table of LEDGER, unless it keeps it; once for each version.",
    "tables",
    multiple=True,
)
@option("--port INTEGER", "Where to listen; a free port unless given.", default=0)
@option("--host ADDRESS", "Listen there; beyond this machine people log in.", default="127.0.0.1")
@option(
    "--name HOST",
    "A name by which browsers ask for it, as a proxy passes it on.",
    "names",
    multiple=True,
)
@option(
    "--proxy ADDRESS", "Believe the header of this proxy, or network.", "proxies", multiple=True
)
@option(
    "--proxy-header NAME", "The header in which it names people.", "header", default="X-Remote-User"
)
@option("--https", "Browsers reach it by https, through a proxy.", "secure")
@option("--workers INTEGER", "Processes that do the work.", default=2)
@option("--memory SIZE", "What one of them may take.", "work_memory", default="4GiB")
@option("--seconds FLOAT", "For a search, an audit, a decision.", default=30.0)
@option("--upload-mib INTEGER", "The largest file that is taken.", "upload", default=32)
@option("--token-file FILE", "Write a token for programs there, for one user alone.", "token_file")
@option("--no-open", "Do not open a browser.", "quiet")
def serve(given: Given) -> int:
    """Explore tables, and decide on requests, in the browser.

    TABLE or FOLDER is what can be explored; to a LEDGER people send requests, which others decide.
    Without people in the ledger it is for one user, who has the link that is printed.
    """
    library("starlette", needed_for="pages in the browser", extra="web")
    library("uvicorn", needed_for="pages in the browser", extra="web")
    from cellbounds.web.request_pages import judge_waiting
    from cellbounds.web.serving import opened_site
    from cellbounds.web.serving import serve as serve_site
    from cellbounds.web.settings import Settings, listed

    check_outputs([given.token_file], [given.what, *given.tables])
    Budget(given.seconds)  # refused here, by the name it has here
    settings = Settings(
        host=given.host,
        port=given.port,
        names=listed(given.names),
        proxies=given.proxies,
        header=given.header,
        secure=given.secure,
        workers=given.workers,
        memory=given.work_memory,
        thorough=given.seconds,
        upload=given.upload * 2**20,
    )
    token = None if given.token_file is None else secrets.token_urlsafe(32)
    with opened_site(given.what, settings, tables=given.tables, token=token) as site:
        if token is not None:
            write_whole(Path(given.token_file), f"{token}\n", private=True)
        os.umask(0o077)
        serve_site(site, say=say, open_browser=not given.quiet, on_start=[judge_waiting])
    return options.SAFE

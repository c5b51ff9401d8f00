"""A Dask cluster as an executor, for those who name its scheduler."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import library
from cellbounds.version import __version__

PACKAGE = "cellbounds"
"""What workers must have."""

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
"""What an address may begin with."""

PATIENCE = 6.0
"""Seconds until somebody must have answered."""


@contextmanager
def cluster(
    address: str, *, patience: float = PATIENCE, package: str = PACKAGE
) -> Iterator[Executor]:
    """Workers of a Dask cluster; left as they are at the end.

    What they work on is sent to them: also the confidential table. Addresses that begin with
    ``tls://`` are answered as Dask's own configuration says.

    Parameters
    ----------
    address
        That of the scheduler, such as ``"tcp://10.0.0.5:8786"``.
    patience
        Seconds until it must have answered.
    package
        What its workers must have in our version.

    Raises
    ------
    InvalidInput
        If Dask is not installed, nobody answers, or the workers have another version of
        cellbounds or none.
    """
    _check_address(address)
    distributed = library("distributed", needed_for="clusters", extra="dask")
    # It says on standard error, again and again, what our own errors say once.
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        try:
            client = distributed.Client(address, timeout=patience, set_as_default=False)
        except (OSError, TimeoutError) as problem:
            raise InvalidInput(
                f"no scheduler answers at {address} within {patience:g} seconds "
                f"({type(problem).__name__}); start one (dask scheduler), or give its address"
            ) from None
        with client:
            _check_versions(client, package)
            yield client.get_executor(pure=False)
    finally:
        logging.disable(before)


def without_workers(executor: Executor | None) -> bool:
    """Whether this is a cluster that has no worker now; False of anybody else."""
    client = getattr(executor, "_client", None)
    if not type(executor).__module__.startswith("distributed.") or client is None:
        return False
    return not client.nthreads()


def _check_address(address: str) -> None:
    """Refuse here what a client would stumble over: no address, no library, no certificates."""
    try:
        parsed = urlsplit(address)
        scheme = parsed.scheme if parsed.hostname and parsed.port else ""
    except ValueError:
        scheme = ""
    if scheme not in SCHEMES:
        raise InvalidInput(
            f"{address!r} is no scheduler's address; write it like tcp://10.0.0.5:8786 "
            f"({', '.join(SCHEMES)})"
        )
    library("distributed", needed_for="clusters", extra="dask")
    import dask.config
    from distributed.comm.registry import get_backend

    try:
        backend: Any = get_backend(scheme)
        backend.get_connector()
    except (ImportError, RuntimeError, TypeError, ValueError):
        raise InvalidInput(
            f"{address}: the Dask of this machine cannot connect by {scheme}://; install what "
            "that needs (such as distributed-ucxx), or give a tcp:// address"
        ) from None
    named = ("distributed.comm.tls.ca-file", "distributed.client.security-loader")
    encrypted = scheme in ("tls", "wss")
    if encrypted and not any(dask.config.get(setting, None) for setting in named):
        raise InvalidInput(
            f"{address} is encrypted, and no certificates are known; name them in Dask's "
            "configuration (distributed.comm.tls: ca-file, and client: cert and key)"
        )


def _check_versions(client: Any, package: str) -> None:
    """Every worker that is there has our version: another one might find something else."""
    there = client.run(metadata.version, package, on_error="return")
    for worker, version in there.items():
        if isinstance(version, Exception):
            raise InvalidInput(
                f"the worker {worker} has no {package}; install version {__version__} there"
            )
        if version != __version__:
            raise InvalidInput(
                f"the worker {worker} has {package} {version}, and this is {__version__}; install "
                "the same version there"
            )

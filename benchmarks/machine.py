"""What the numbers were measured on: the machine, and the version of everything that took part."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.peers.listing import LATTE, ZSOLVE, program_of
from benchmarks.problems.instances import REPOSITORY

OWN = "cellbounds"
PACKAGES = (
    "numpy",
    "scipy",
    "highspy",
    "ortools",
    "pyscipopt",
    "python-flint",
    "numba",
    "arviz-stats",
    "duckdb",
    "pyarrow",
)
CPUINFO = Path("/proc/cpuinfo")
OS_RELEASE = Path("/etc/os-release")
SOURCES = REPOSITORY / "src" / OWN
MISSING = "not installed"


@cache
def described() -> tuple[str, ...]:
    """Return lines naming the processor, its cores, the memory and the system."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory",
        f"{system()}, {platform.machine()}",
        f"Python {platform.python_version()} ({platform.python_implementation()})",
    )


@cache
def versions() -> dict[str, str]:
    """Return the version of this library, of what it uses and of its peers, by name.

    The version of this library does not change between two changes of its code, so a digest of
    its source stands beside it.
    """
    found = {OWN: f"{installed_version(OWN)}, source {source_digest()}"}
    found |= {package: installed_version(package) for package in PACKAGES}
    for package, brought in (("scipy", highs_in_scipy), ("pyscipopt", scip_inside)):
        if found[package] != MISSING:
            found[package] += f" with {brought()}"
    found["4ti2"] = program_version(ZSOLVE)
    found["LattE"] = MISSING if program_of(LATTE) is None else "installed"
    return found


def processor() -> str:
    """Return the processor's name, or its architecture where the system does not tell."""
    if CPUINFO.exists():
        for line in CPUINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def system() -> str:
    """Return the name of the operating system and its kernel."""
    if OS_RELEASE.exists():
        for line in OS_RELEASE.read_text(encoding="utf-8").splitlines():
            if line.startswith("PRETTY_NAME="):
                named = line.partition("=")[2].strip('"')
                return f"{named}, {platform.system()} {platform.release()}"
    return f"{platform.system()} {platform.release()}"


def installed_version(package: str) -> str:
    """Return the version of an installed package, or say that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return MISSING


def scip_inside() -> str:
    """Return the version of the SCIP that pyscipopt brings along."""
    from pyscipopt import Model

    return f"SCIP {Model().version()}"


def highs_in_scipy() -> str:
    """Return the version of the HiGHS that scipy brings along, where it tells."""
    try:
        from scipy.optimize._highspy import _core
    except ImportError:
        return "HiGHS of an unknown version"
    names = ("HIGHS_VERSION_MAJOR", "HIGHS_VERSION_MINOR", "HIGHS_VERSION_PATCH")
    return f"HiGHS {'.'.join(str(getattr(_core, name, '?')) for name in names)}"


def program_version(names: tuple[str, ...]) -> str:
    """Return what a program says of its version."""
    path = program_of(names)
    if path is None:
        return MISSING
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\S+)", said.stdout + said.stderr)
    return found.group(1) if found else "of an unknown version"


def source_digest() -> str:
    """Return the first digits of a digest over the source of this library."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        digest.update(path.relative_to(SOURCES).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]

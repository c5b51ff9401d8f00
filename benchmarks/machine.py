"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("cellbounds", "numpy", "scipy", "highspy", "ortools")
CPUINFO = Path("/proc/cpuinfo")


def describe() -> list[str]:
    """Return lines naming the processor, Python, the packages and their versions."""
    return [
        f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        ", ".join(f"{package} {installed_version(package)}" for package in PACKAGES),
    ]


def processor() -> str:
    """Return the processor's name, or its architecture where the system does not tell."""
    if CPUINFO.exists():
        for line in CPUINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def installed_version(package: str) -> str:
    """Return the version of an installed package, or say that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed as a package)"

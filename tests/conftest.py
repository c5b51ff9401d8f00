"""Profiles of the property tests: `default` for every run, `long` for `make test-long`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "default", max_examples=300, deadline=None, suppress_health_check=_CHECKS, derandomize=True
)
settings.register_profile(
    "long", max_examples=12_000, deadline=None, suppress_health_check=_CHECKS, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

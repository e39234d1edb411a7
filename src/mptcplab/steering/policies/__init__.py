# SPDX-License-Identifier: MIT
"""The policies: one module for each, with a subclass of :class:`mptcplab.steering.policy.Policy`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from mptcplab.steering.policy import Policy


@cache
def policy_classes() -> dict[str, type[Policy]]:
    """Return all policies by name."""
    modules = [importlib.import_module(f"{__name__}.{pair.name}") for pair in pkgutil.iter_modules(__path__)]
    values = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    kinds = {value.name: value for value in values if issubclass(value, Policy) and value is not Policy}
    return dict(sorted(kinds.items()))

# SPDX-License-Identifier: MIT
"""All link behaviours, from the modules in ``behaviours`` and from :mod:`mptcplab.plugins`."""

from __future__ import annotations

from typing import Any

from mptcplab.errors import InputError
from mptcplab.network import behaviours
from mptcplab.network.behaviour import Behaviour, VariableKey
from mptcplab.network.frames import frames_of_aggregate, full_frame
from mptcplab.plugins import named_classes

#: In the order of the reference and of captions.
BEHAVIOURS: tuple[Behaviour[Any], ...] = tuple(
    sorted(
        (kind() for kind in named_classes(Behaviour, behaviours).values()),
        key=lambda behaviour: (behaviour.order, behaviour.name),
    )
)
#: In the order in which they apply to a packet.
IN_PACKET_ORDER = tuple(sorted(BEHAVIOURS, key=lambda behaviour: behaviour.at_bottleneck))
#: The keys that events and traces may change, and the behaviour of each.
VARIABLE_KEYS: dict[str, VariableKey] = {
    key: variable for behaviour in BEHAVIOURS for key, variable in behaviour.variable.items()
}
VARIABLE_KEY_NAMES = " or ".join(", ".join(VARIABLE_KEYS).rsplit(", ", 1))
OWNERS = {key: behaviour for behaviour in BEHAVIOURS for key in behaviour.variable}


def aggregate_of(settings: Any) -> int | None:
    """Return the size up to which packets cross a direction as one; None if each is single."""
    return max(
        (int(size) for behaviour in BEHAVIOURS if (size := behaviour.aggregate(settings)) is not None), default=None
    )


def largest_packet(settings: Any, mtu: int) -> int:
    """Return the bytes of the largest packet that crosses a direction, as its shaper counts them."""
    return max(full_frame(mtu), frames_of_aggregate(aggregate_of(settings) or 0, mtu))


def _check_keys() -> None:
    """Check that keys are unique. :raises InputError: if two behaviours have a key of the same name."""
    owners: dict[str, type] = {}
    for behaviour in BEHAVIOURS:
        for model in behaviour.model.__mro__:
            for key in vars(model).get("__annotations__", {}).keys() & behaviour.model.model_fields.keys():
                if owners.setdefault(key, model) is not model:
                    hint = "give the key another name"
                    message = f"the key {key} of the behaviour {behaviour.name} belongs to another behaviour already"
                    raise InputError(message, hint=hint)


_check_keys()

# SPDX-License-Identifier: MIT
"""Field types of models: names, whole numbers, times, text; and the base class of all tables of a scenario."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    TypeAdapter,
)
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from mptcplab.errors import Mistake
from mptcplab.units import Duration

_END = r"\Z"
#: Names become network namespaces, interfaces and files, so they use only characters that all of these allow.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_MAX_LINK_NAME = 15  # IFNAMSIZ - 1
_MAX_NODE_NAME = 32
#: ``net.ipv4.conf.all`` is not an interface; ``lo`` and the tunnels exist in every namespace.
_NOT_LINKS = ("all", "default", "lo", "tunl0", "sit0", "gre0", "gretap0", "erspan0", "ip6tnl0", "ip6gre0")
_NOT_NODES = ("all", "default", "host", "lab", "self")
_ALGORITHM = re.compile(r"[A-Za-z0-9_]{1,15}\Z")  # TCP_CA_NAME_MAX - 1
#: A version, the name of an entry in the cache, or the path of one.
_VERSION = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+-]{0,62}|~?/[^\x00-\x1f]{1,1000})\Z")
_MAX_TIME = Duration(1000 * 3600 * 10**9)


def value_error(message: str, hint: str, *key: str | int, kind: Mistake = Mistake.VALUE) -> PydanticCustomError:
    """Return an error for pydantic to report, with a hint for the user; ``key`` is its place in the checked value."""
    return PydanticCustomError("scenario", "{text}", {"text": message, "hint": hint, "key": key, "kind": kind})


#: Errors for a value that conflicts with another key, has no effect, or is unknown to the path manager.
conflict = partial(value_error, kind=Mistake.CONFLICT)
idle = partial(value_error, kind=Mistake.IDLE)
unavailable = partial(value_error, kind=Mistake.UNAVAILABLE)


@dataclass(frozen=True, eq=False)
class _TextType:
    """Text that ``check`` accepts; ``shape`` is the corresponding JSON Schema for editors."""

    check: Callable[[str], str]
    shape: dict[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), **self.shape}


@dataclass(frozen=True)
class OneOf:
    """Text that is one of ``words()``, which is called before the first value is checked."""

    words: Callable[[], Iterable[str]]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.words()))


@dataclass(frozen=True, eq=False)
class TaggedTable:
    """A table that is checked by the one of ``models`` that its ``key`` names. The others need not be imported."""

    key: str
    models: Mapping[str, type[BaseModel]]

    def __get_pydantic_core_schema__(self, base: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(partial(self._check, base))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        any_model: Any = Annotated[reduce(or_, self.models.values()), Field(discriminator=self.key)]
        return handler(TypeAdapter(any_model).core_schema)

    def _check(self, base: type[BaseModel], value: Any) -> BaseModel:
        if isinstance(value, base):
            return value
        if not isinstance(value, dict):
            raise PydanticKnownError("model_attributes_type")
        if self.key not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": repr(self.key)})
        word = str(value[self.key])
        if word not in self.models:
            expected = {"tag": word, "expected_tags": ", ".join(map(repr, self.models))}
            raise PydanticKnownError("union_tag_invalid", {"discriminator": repr(self.key), **expected})
        return self.models[word].model_validate(value)


def _ecma(pattern: re.Pattern[str]) -> str:
    """Return ``pattern``, which matches whole texts, as a regular expression of JSON Schema."""
    return f"^{pattern.pattern.removesuffix(_END)}$"


def _name_type(length: int, noun: str, reserved: tuple[str, ...] = ()) -> Any:
    def check(name: str) -> str:
        if not _NAME.match(name):
            raise value_error(
                f"is not a name for a {noun}", "use a letter, then letters, digits, '-' or '_' (ASCII only)"
            )
        if len(name) > length:
            raise value_error(f"is too long a name for a {noun}", f"use at most {length} characters, not {len(name)}")
        if name in reserved:
            raise value_error(f"is a reserved name, not one for a {noun}", f"use another name, like {name}1")
        return name

    words = {"not": {"enum": list(reserved)}} if reserved else {}
    return _TextType(check, {"pattern": _ecma(_NAME), "maxLength": length, **words})


def text_matching(pattern: re.Pattern[str], message: str, hint: str) -> Any:
    def check(text: str) -> str:
        if not pattern.match(text):
            raise value_error(message, hint)
        return text

    return _TextType(check, {"pattern": _ecma(pattern)})


def whole_multiple(unit: Duration, word: str) -> Any:
    def check(time: Duration) -> Duration:
        if int(time) % int(unit):
            raise value_error(f"is not a whole number of {word}", f"round it to a multiple of {unit}")
        return time

    return AfterValidator(check)


def _check_time(time: Duration) -> Duration:
    if time > _MAX_TIME:
        raise value_error("is not plausible", f"use at most {_MAX_TIME}")
    return time


def _algorithm(example: str) -> Any:
    """Accept names as the kernel has them; the hint has the name without hyphens, or else ``example``."""

    def check(text: str) -> str:
        if not _ALGORITHM.match(text):
            joined = text.replace("-", "")
            shown = joined if _ALGORITHM.match(joined) else example
            raise value_error("is not a valid kernel identifier", f'write one word, like "{shown}"')
        return text

    return _TextType(check, {"pattern": _ecma(_ALGORITHM)})


NodeName = Annotated[str, _name_type(_MAX_NODE_NAME, "node", _NOT_NODES)]
LinkName = Annotated[str, _name_type(_MAX_LINK_NAME, "link", _NOT_LINKS)]
#: The loopback interface of every node. No link has its name.
LOOPBACK = "lo"
InterfaceName = Annotated[
    str, _name_type(_MAX_LINK_NAME, "link", tuple(name for name in _NOT_LINKS if name != LOOPBACK))
]
GatewayName = Annotated[str, _name_type(_MAX_NODE_NAME, "gateway")]
WorkloadName = Annotated[str, _name_type(_MAX_NODE_NAME, "workload")]
Algorithm = Annotated[str, _algorithm("cubic")]
Scheduler = Annotated[str, _algorithm("default")]
Version = Annotated[str, text_matching(_VERSION, "is not a version", 'write for example kernel = "7.2"')]
Line = Annotated[
    str,
    text_matching(
        re.compile(r"[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z"),
        "is not a line of text",
        "write one line of text that is not empty",
    ),
]
Whole = Annotated[int, Strict()]
Boolean = Annotated[bool, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Time = Annotated[Duration, AfterValidator(_check_time)]
Microseconds = Annotated[Time, whole_multiple(Duration(1000), "microseconds")]
#: The distribution of random times.
TimeDistribution = Literal["exponential", "fixed"]
Protocol = Literal["mptcp", "tcp"]
Flag = Literal["signal", "subflow", "backup", "fullmesh"]
#: Names that users may write for a key, by key.
Misnomers = Mapping[str, tuple[str, ...]]


class Part(BaseModel):
    """Base class of all parts of a scenario: immutable, and unknown keys are refused."""

    misnomers: ClassVar[Misnomers] = {}
    """Names that users may write for a key: names from other tools and tables, and its earlier ones. They are refused,
    with the key as a hint. A subclass inherits its bases' names, and may list names for keys that only some of its
    own subclasses have."""
    advice: ClassVar[Mapping[str, str]] = {}
    """Hints for names that no single key stands for."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    def is_set(self, key: str) -> bool:
        """Return whether ``key`` differs from its default; writing the default equals leaving the key out."""
        return bool(getattr(self, key) != _default(type(self), key))


def misnomers_of(*models: type[BaseModel]) -> Misnomers:
    """Return the misnomers that ``models`` and their bases list, by key."""
    merged: dict[str, tuple[str, ...]] = {}
    for listed in (vars(base).get("misnomers", {}) for model in models for base in model.__mro__):
        merged |= {key: tuple(dict.fromkeys((*merged.get(key, ()), *names))) for key, names in listed.items()}
    return merged


@cache
def _default(model: type[BaseModel], key: str) -> Any:
    """Return the default of a field. pydantic would copy it each time, and parts are immutable."""
    return model.model_fields[key].get_default(call_default_factory=True)

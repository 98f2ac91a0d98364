"""Converts JSON documents to the dataclasses of `results`."""

from __future__ import annotations

import dataclasses
import functools
import json
import typing
from typing import Any, Literal, Union, get_args, get_origin

from . import results

_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def read_result(text: Union[str, bytes]) -> Any:
    """Returns the result in a document of `--json`, by its member `schema`.

    Raises ValueError if it is not JSON, or if this version of the module does not know its schema.
    """
    document = json.loads(text)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in results.RESULTS:
        raise ValueError(f"a document of the schema {schema!r}, which this version of the module does not know")
    return _read(results.RESULTS[schema], document)


def _read(kind: Any, value: Any) -> Any:
    """Converts `value` to `kind`. A value of an unexpected form, as a newer program may write it, is not converted."""
    if value is None:
        return None
    if get_origin(kind) is Union:
        return _read_union([member for member in get_args(kind) if member is not type(None)], value)
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return _read_object(kind, value)
    if get_origin(kind) is tuple and isinstance(value, list):
        members = get_args(kind)
        if members[-1] is Ellipsis:
            return tuple(_read(members[0], item) for item in value)
        rest = (Any,) * (len(value) - len(members))
        return tuple(_read(member, item) for member, item in zip(members + rest, value))
    if get_origin(kind) is dict and isinstance(value, dict):
        return {key: _read(get_args(kind)[1], item) for key, item in value.items()}
    if kind is float and isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    return value


def _read_union(kinds: list[Any], value: Any) -> Any:
    """Converts `value` to the matching one of `kinds`."""
    if len(kinds) == 1:
        return _read(kinds[0], value)
    if isinstance(value, dict):
        objects: list[Any] = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
        return _read(max(objects, key=lambda kind: _likeness(kind, value)), value) if objects else value
    if isinstance(value, list):
        return _read(next((kind for kind in kinds if get_origin(kind) is tuple), Any), value)
    return _read(float, value) if float in kinds else value


def _likeness(kind: Any, value: dict[str, Any]) -> tuple[int, int]:
    """Counts the members of `value` that `kind` has, and those that are constant there, such as `node_type`."""
    members = _members(kind)
    constants = [name for name, (_, hint) in members.items() if get_origin(hint) is Literal]
    equal = [name for name in constants if value.get(name) in get_args(members[name][1])]
    return len(value.keys() & members.keys()), len(equal)


def _read_object(kind: Any, value: dict[str, Any]) -> Any:
    """Returns an instance of the dataclass `kind`. Members without a field are in `extra`."""
    members = _members(kind)
    given = {attribute: _read(hint, value.get(name)) for name, (attribute, hint) in members.items()}
    return kind(**given, extra={name: item for name, item in value.items() if name not in members})


@functools.cache
def _members(kind: Any) -> dict[str, tuple[str, Any]]:
    """Returns the attribute and the type of each JSON member that `kind` has a field for."""
    hints = typing.get_type_hints(kind)
    names = (each.name for each in dataclasses.fields(kind) if each.name != "extra")
    return {name.rstrip("_"): (name, hints[name]) for name in names}

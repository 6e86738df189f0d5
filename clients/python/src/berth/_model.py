"""Replies: light objects over the JSON that the service sent."""

from __future__ import annotations

import keyword
from typing import Any, Callable, ClassVar, Iterator, Mapping, TypeVar, cast

Reader = Callable[[Any], Any]
"""Makes the value of a field from its JSON."""

ModelType = TypeVar("ModelType", bound="Model")


class Model:
    """A reply of the service. Fields are attributes and entries: ``x.title`` is ``x["title"]``.

    Fields that this version does not know are kept. A field whose name is a word of Python has an underscore behind it as
    an attribute: ``x.in_`` is ``x["in"]``.
    """

    _readers: ClassVar[Mapping[str, Reader]] = {}
    """Fields that are more than plain JSON."""
    _json: dict[str, Any]

    def __init__(self, data: Mapping[str, Any]) -> None:
        json = dict(data)
        object.__setattr__(self, "_json", json)
        readers = type(self)._readers
        for name, value in json.items():
            reader = readers.get(name)
            # What comes from a newer service may have another form than this version knows.
            read = value if reader is None or value is None else reader(value)
            attribute = f"{name}_" if keyword.iskeyword(name) else name
            if not attribute.startswith("_") and attribute not in _own_names:
                self.__dict__[attribute] = read

    def __getitem__(self, name: str) -> Any:
        if name not in self._json:
            raise KeyError(name)
        attribute = f"{name}_" if keyword.iskeyword(name) else name
        return self.__dict__[attribute] if attribute in self.__dict__ else self._json[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, or the default where the reply has no such field."""
        return self[name] if name in self._json else default

    def __contains__(self, name: object) -> bool:
        return name in self._json

    def __iter__(self) -> Iterator[str]:
        return iter(self._json)

    def to_dict(self) -> dict[str, Any]:
        """The reply as the service sent it."""
        return dict(self._json)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and type(self) is type(other) and self._json == other._json

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._json!r})"


_own_names = frozenset(("get", "to_dict"))


def read_list(reader: Reader) -> Reader:
    """A reader of lists, whose entries the given one reads."""
    return lambda value: [item if item is None else reader(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def read_map(reader: Reader) -> Reader:
    """A reader of objects with any names, whose values the given one reads."""

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: item if item is None else reader(item) for name, item in cast("dict[str, Any]", value).items()}

    return read


def read_model(model: Callable[[], type[Model]]) -> Reader:
    """A reader of one class of replies. The class may be defined later."""
    return lambda value: model()(cast("dict[str, Any]", value)) if isinstance(value, dict) else value

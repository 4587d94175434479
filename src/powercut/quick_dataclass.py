"""Dataclasses that load fast: what compares, hashes and prints them is made when it is first used.

`dataclasses.dataclass` compiles up to eight methods for each class. A run has two hundred classes and uses few of these
methods, and compiling them took a tenth of the time of a short run. Before: a class as for `dataclasses.dataclass`.
After: the same class, but that a frozen one is frozen for mypy only, so that its instances are made faster, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from reprlib import recursive_repr

    def dataclass(cls=None, /, *, frozen=False, slots=False, order=False, eq=True):
        """A class as `dataclasses.dataclass` makes it."""

        def make(cls):
            methods = {"__repr__": _repr}
            if eq:
                methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
            missing = methods.keys() - cls.__dict__.keys()
            made = dataclasses.dataclass(cls, repr=False, eq=order, order=order, slots=slots)
            for name in missing:
                setattr(made, name, methods[name])
            return made

        return make if cls is None else make(cls)

    @recursive_repr()
    def _repr(self):
        shown = (field.name for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _eq(self, other):
        cls = _owner(type(self), "__eq__", _eq)
        compared = [field.name for field in dataclasses.fields(cls) if field.compare]
        mine, theirs = ("".join(f"{it}.{name}," for name in compared) for it in ("self", "other"))
        body = f"({mine}) == ({theirs}) if other.__class__ is self.__class__ else NotImplemented"
        cls.__eq__ = eval(f"lambda self, other: {body}")
        return cls.__eq__(self, other)

    def _hash(self):
        cls = _owner(type(self), "__hash__", _hash)
        fields = dataclasses.fields(cls)
        hashed = (field.name for field in fields if (field.compare if field.hash is None else field.hash))
        cls.__hash__ = eval(f"lambda self: hash(({''.join(f'self.{name},' for name in hashed)}))")
        return cls.__hash__(self)

    def _owner(cls, name, method):
        """The class that was given a method: the instance may be of a class derived from it."""
        return next(base for base in cls.__mro__ if base.__dict__.get(name) is method)

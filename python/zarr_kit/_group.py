"""Groups."""

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from zarr_kit._array import Array
from zarr_kit._attributes import Attributes, attributes_text
from zarr_kit._creation import NewArray, check_arguments
from zarr_kit._hierarchy import Hierarchy
from zarr_kit.errors import InvalidInputError, NodeNotFoundError, WrongKindError

if TYPE_CHECKING:
    from zarr_kit._display import Info


class Group:
    """A group of a hierarchy: a mapping from names to arrays and groups.

    A name may also be a relative path of several names, separated by ``/``.
    """

    def __init__(self, hierarchy: Hierarchy, path: str, attributes: str) -> None:
        self._hierarchy = hierarchy
        self._path = path
        self._attributes = attributes

    @classmethod
    def _open(cls, hierarchy: Hierarchy, path: str) -> "Group":
        return cls(hierarchy, path, hierarchy.engine.group_attributes(path))

    @property
    def path(self) -> str:
        """The path of the group in its hierarchy, which starts with ``/``."""
        return self._path

    @property
    def name(self) -> str:
        """The same as :attr:`path`."""
        return self._path

    @property
    def basename(self) -> str:
        """The last segment of the path."""
        return self._path.rpartition("/")[2]

    @property
    def location(self) -> str:
        """The location of the store."""
        return self._hierarchy.opening.location

    @property
    def format(self) -> str:
        """The format: ``v2``, ``v3-draft`` or ``v3``."""
        return self._hierarchy.engine.format

    @property
    def zarr_format(self) -> int:
        """2, or 3 for the draft and the final version."""
        return 2 if self.format == "v2" else 3

    @property
    def read_only(self) -> bool:
        """Whether the group cannot be written."""
        return self._hierarchy.read_only

    @property
    def is_consolidated(self) -> bool:
        """Whether nodes are found and read through consolidated metadata, which may be out of date."""
        return self._hierarchy.engine.is_consolidated

    @property
    def attrs(self) -> Attributes:
        """The attributes. Changes are stored immediately."""
        return Attributes(self)

    @property
    def info(self) -> "Info":
        """A summary."""
        from zarr_kit._display import group_info

        return group_info(self)

    def __getitem__(self, name: str) -> "Array | Group":
        path = self._below(name)
        kind = self._hierarchy.engine.kind(path)
        if kind is None:
            raise missing_node(self._hierarchy, path)
        return open_node(self._hierarchy, path, kind)

    def __setitem__(self, name: str, value: object) -> None:
        raise TypeError(f"a group does not take assignments: use create_array({name!r}, data=...)")

    def __delitem__(self, name: str) -> None:
        path = self._below(name)
        self._hierarchy.check_writable(path)
        self._hierarchy.engine.erase(path)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._hierarchy.engine.kind(self._below(name)) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def get(self, name: str, default: Any = None) -> Any:
        """Return the node called `name`, or `default` if there is none."""
        path = self._below(name)
        kind = self._hierarchy.engine.kind(path)
        return default if kind is None else open_node(self._hierarchy, path, kind)

    def keys(self) -> list[str]:
        """Return the names of the nodes directly below the group, sorted."""
        return [path.rpartition("/")[2] for path, _ in self._hierarchy.engine.nodes(self._path, False)]

    def members(self) -> list[tuple[str, "Array | Group"]]:
        """Return the names and nodes directly below the group."""
        return [(path.rpartition("/")[2], open_node(self._hierarchy, path, kind)) for path, kind in self._children()]

    def items(self) -> list[tuple[str, "Array | Group"]]:
        """Return the same as :meth:`members`."""
        return self.members()

    def values(self) -> list["Array | Group"]:
        """Return the nodes directly below the group."""
        return [node for _, node in self.members()]

    def arrays(self) -> list[tuple[str, Array]]:
        """Return the names and arrays directly below the group."""
        arrays = [Array(self._hierarchy, engine) for engine in self._hierarchy.engine.arrays(self._path)]
        return [(array.basename, array) for array in arrays]

    def groups(self) -> list[tuple[str, "Group"]]:
        """Return the names and groups directly below the group."""
        return [(name, node) for name, node in self.members() if isinstance(node, Group)]

    def create_group(
        self, name: str, *, overwrite: bool = False, attributes: Mapping[str, Any] | None = None
    ) -> "Group":
        """Create a group below this one."""
        path = self._below(name)
        text = attributes_text(attributes)
        self._hierarchy.check_writable(path)
        if overwrite:
            erase_if_present(self._hierarchy, path)
        self._hierarchy.engine.create_group(path, text)
        return Group._open(self._hierarchy, path)

    def require_group(self, name: str) -> "Group":
        """Open the group called `name`, or create it."""
        path = self._below(name)
        if self._hierarchy.engine.kind(path) is None:
            return self.create_group(name)
        return Group._open(self._hierarchy, path)

    def create_array(self, name: str, *, overwrite: bool = False, **arguments: Unpack[NewArray]) -> Array:
        """Create an array below this group, with the arguments of :func:`zarr_kit.create_array`."""
        from zarr_kit._api import new_array

        path = self._below(name)
        check_arguments(arguments)
        self._hierarchy.check_writable(path)
        if overwrite:
            erase_if_present(self._hierarchy, path)
        return new_array(self._hierarchy, path, arguments)

    def create_arrays(self, arrays: Mapping[str, NewArray], *, overwrite: bool = False) -> dict[str, Array]:
        """Create arrays below this group: a mapping from names to the arguments of :func:`zarr_kit.create_array`.

        In an object store, many of their documents are written at the same time. All arguments are checked before
        anything is written. If one of the nodes exists already, or if the store fails, some of the arrays may have been
        created.
        """
        from zarr_kit._api import new_arrays

        expected = 'expected a mapping from names to arguments, such as {"a": {"shape": 10, "dtype": "int16"}}'
        if not isinstance(arrays, Mapping):
            raise InvalidInputError(expected)
        # Many arrays often share one dictionary of arguments.
        for arguments in {id(new): new for new in arrays.values()}.values():
            if not isinstance(arguments, Mapping):
                raise InvalidInputError(expected)
            check_arguments(arguments)
        below = {self._below(name): arguments for name, arguments in arrays.items()}
        if len(below) < len(arrays):
            raise InvalidInputError("two of the names are the same path: give each array once")
        for path in below if overwrite else ():
            self._hierarchy.check_writable(path)
            erase_if_present(self._hierarchy, path)
        return dict(zip(arrays, new_arrays(self._hierarchy, below), strict=True))

    def commit(self) -> None:
        """Make all changes permanent in a store that collects changes, such as a zip archive.

        Other stores store every change immediately. An archive is also committed when the last node of it is deleted, but
        then a failure is only printed.
        """
        self._hierarchy.engine.commit()

    def tree(self) -> str:
        """Return the nodes below the group as a tree of lines."""
        from zarr_kit._display import tree

        return tree(self)

    def __repr__(self) -> str:
        return f"<zarr_kit.Group {self._path} in {self.location}>"

    def _repr_html_(self) -> str:
        from zarr_kit._display import group_html

        return group_html(self)

    def __reduce__(self) -> tuple[Callable[[Hierarchy, str], "Group"], tuple[Hierarchy, str]]:
        return Group._open, (self._hierarchy, self._path)

    def __copy__(self) -> "Group":
        return Group._open(self._hierarchy, self._path)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Group":
        return self.__copy__()

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return "zarr_kit.Group", self._hierarchy.token, self._path

    def _attributes_text(self) -> str:
        return self._attributes

    def _store_attributes(self, changed: str, removed: list[str], replace: bool) -> None:
        self._hierarchy.check_writable(self._path)
        engine = self._hierarchy.engine
        self._attributes = engine.update_group_attributes(self._path, changed, removed, replace)

    def _children(self) -> list[tuple[str, str]]:
        return self._hierarchy.engine.nodes(self._path, False)

    def _below(self, name: str) -> str:
        if not isinstance(name, str):
            raise WrongKindError(f"{self._path} is a group: expected the name of a node, such as 'a/b'; found {name!r}")
        return f"{self._path.rstrip('/')}/{name.strip('/')}"


def open_node(hierarchy: Hierarchy, path: str, kind: str) -> Array | Group:
    """Open the node at `path`. An unreadable node is opened as an array, which raises the error."""
    return Group._open(hierarchy, path) if kind == "group" else Array._open(hierarchy, path)


def missing_node(hierarchy: Hierarchy, path: str) -> NodeNotFoundError:
    """Return the error for a path without a node. Only a local store is searched for a similar name."""
    above, _, name = path.rpartition("/")
    similar: list[str] = []
    if os.path.isabs(hierarchy.opening.location) and hierarchy.engine.kind(above or "/") == "group":
        names = [below.rpartition("/")[2] for below, _ in hierarchy.engine.nodes(above or "/", False)]
        similar = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {above}/{similar[0]}?)" if similar else ""
    return NodeNotFoundError(f"there is no node at {path}{hint}")


def erase_if_present(hierarchy: Hierarchy, path: str) -> None:
    """Erase the node at `path`, if there is one."""
    if hierarchy.engine.kind(path) is not None:
        hierarchy.engine.erase(path)

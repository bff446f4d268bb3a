"""What a server offers: its tools, prompts, resources and resource templates, by name.

A catalog is plain data. Several connections may share one; a connection that has one answers the
lists from it, page by page, refuses what is not in it, and tells its client when it has changed
(server/tools, server/prompts, server/resources, server/utilities/pagination).
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from .errors import LocalProtocolError, StructureError, shortened
from .types import Prompt, Resource, ResourceTemplate, Tool
from .wire import encode_json, unstructure

__all__ = ["Catalog", "Shelf"]

_T = TypeVar("_T")


class Shelf(Generic[_T]):
    """The items of one kind, in the order in which they were added.

    Attributes:
        version: grows with every change; a connection compares it with the one that it has seen.
    """

    def __init__(self, kind: str, key: Callable[[_T], str], items: Iterable[_T], rule: str) -> None:
        self._kind = kind
        self._key = key
        self._rule = rule
        self._items: dict[str, _T] = {}
        # (number, name), numbers ascending. A cursor is the number of the last item of its page, so
        # that adding and removing items moves no page.
        self._order: list[tuple[int, str]] = []
        self._next_number = 1
        self.version = 0
        self.items: Mapping[str, _T] = MappingProxyType(self._items)
        for item in items:
            self.add(item)

    def add(self, item: _T) -> None:
        """Offer one more.

        Raises:
            LocalProtocolError: there is one of this name already (TOOL-17, S13), or it is none that
                could be sent, such as a tool without an object schema for its input (TOOL-08).
        """
        try:
            encode_json(unstructure(item))
        except StructureError as error:
            rule = "TOOL-08" if error.path.startswith("inputSchema") else "GEN-03"
            raise LocalProtocolError(f"{self._kind}: {error}", rule=rule) from None
        key = self._key(item)
        if key in self._items:
            detail = f"there is a {self._kind} {shortened(key)} already; remove it first"
            raise LocalProtocolError(detail, rule=self._rule)
        self._items[key] = item
        self._order.append((self._next_number, key))
        self._next_number += 1
        self.version += 1

    def remove(self, key: str) -> _T:
        """Offer it no more; gives what was removed.

        Raises:
            KeyError: there is none of this name.
        """
        item = self._items.pop(key)
        self._order = [entry for entry in self._order if entry[1] != key]
        self.version += 1
        return item

    def page(self, cursor: str | None, size: int) -> tuple[tuple[_T, ...], str | None] | None:
        """The items after a cursor and the cursor of the next page; None for a cursor not ours.

        Args:
            cursor: what an earlier page gave, or None for the first page.
            size: how many items at most.
        """
        start = 0
        if cursor is not None:
            # Only what `page` itself writes is a cursor: no sign, no space, no leading zero.
            if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
                return None
            start = int(cursor)
            if str(start) != cursor or not 0 < start < self._next_number:
                return None
        first = bisect_right(self._order, start, key=lambda entry: entry[0])
        page = self._order[first : first + size]
        more = first + size < len(self._order)
        return tuple(self._items[key] for _, key in page), str(page[-1][0]) if more else None


class Catalog:
    """What a server offers.

    Args:
        tools: by name. Their `inputSchema` must be an object schema (TOOL-08).
        prompts: by name.
        resources: by URI.
        resource_templates: by URI template.
        page_size: items of one page of a list.

    Raises:
        LocalProtocolError: two items have one name.
        ValueError: `page_size` is less than 1.
    """

    def __init__(
        self,
        *,
        tools: Iterable[Tool] = (),
        prompts: Iterable[Prompt] = (),
        resources: Iterable[Resource] = (),
        resource_templates: Iterable[ResourceTemplate] = (),
        page_size: int = 100,
    ) -> None:
        if page_size < 1:
            raise ValueError("page_size must be at least 1")
        self.page_size = page_size
        self.tools = Shelf[Tool]("tool", lambda tool: tool.name, tools, "TOOL-17")
        self.prompts = Shelf[Prompt]("prompt", lambda prompt: prompt.name, prompts, "PROMPT-01")
        self.resources = Shelf[Resource]("resource", lambda r: r.uri, resources, "RES-01")
        self.resource_templates = Shelf[ResourceTemplate](
            "resource template", lambda r: r.uri_template, resource_templates, "RES-01"
        )

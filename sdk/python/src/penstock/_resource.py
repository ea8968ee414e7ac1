"""Base classes of the generated resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from typing_extensions import Self

from ._connection import AsyncConnection, Connection
from ._events import AsyncEventStream, EventStream
from ._operation import EventOperation, Operation, PageOperation
from ._pages import AsyncPages, Page, PageRequest

T = TypeVar("T")


class Resource:
    """Methods of Penstock."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _with_raw(self) -> Self:
        """The same methods, but with raw responses."""
        copy = object.__new__(type(self))
        copy._connection = self._connection.with_raw(True)
        return copy

    def _call(self, operation: Operation[T], arguments: Mapping[str, Any], *path: str) -> T:
        result: T = self._connection.perform(operation.call(arguments, path))
        return result

    def _pages(
        self, operation: PageOperation[T], arguments: Mapping[str, Any], *path: str
    ) -> Page[T]:
        return Page[T].ask(self._connection, PageRequest(operation, arguments, path))

    def _events(
        self, operation: EventOperation[T], arguments: Mapping[str, Any], *path: str
    ) -> EventStream[T]:
        return EventStream(self._connection, operation, arguments, path)


class AsyncResource:
    """Methods of AsyncPenstock."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def _with_raw(self) -> Self:
        """The same methods, but with raw responses."""
        copy = object.__new__(type(self))
        copy._connection = self._connection.with_raw(True)
        return copy

    async def _call(self, operation: Operation[T], arguments: Mapping[str, Any], *path: str) -> T:
        result: T = await self._connection.perform(operation.call(arguments, path))
        return result

    def _pages(
        self, operation: PageOperation[T], arguments: Mapping[str, Any], *path: str
    ) -> AsyncPages[T]:
        return AsyncPages(self._connection, PageRequest(operation, arguments, path))

    def _events(
        self, operation: EventOperation[T], arguments: Mapping[str, Any], *path: str
    ) -> AsyncEventStream[T]:
        return AsyncEventStream(self._connection, operation, arguments, path)

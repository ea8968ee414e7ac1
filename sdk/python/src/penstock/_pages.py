"""Paginated lists."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._connection import AsyncConnection, Connection
from ._model import Model
from ._operation import Decode, PageOperation

if TYPE_CHECKING:
    from ._operation import Call

T = TypeVar("T")


@dataclass(frozen=True)
class PageRequest(Generic[T]):
    """The request for a page."""

    operation: PageOperation[T]
    arguments: Mapping[str, Any]
    path: Sequence[str]

    def call(self, decode: Decode) -> Call:
        """The request for this page."""
        return self.operation.call(self.arguments, self.path, decode)

    def after(self, cursor: str) -> PageRequest[T]:
        """The request for the page that this cursor leads to."""
        return replace(self, arguments={**self.arguments, "cursor": cursor})


class BasePage(Generic[T]):
    """A page of a list."""

    def __init__(self, request: PageRequest[T], body: Model) -> None:
        self._request = request
        self.body: Any = body
        """The whole response."""
        self.items: list[T] = getattr(body, request.operation.items)
        """What is on this page."""

    @property
    def next_cursor(self) -> str | None:
        """The `cursor` of the next page."""
        info = self.body.page_info
        cursor: str | None = info.next_cursor if info.has_next_page else None
        return cursor

    @property
    def has_next_page(self) -> bool:
        """Whether there is another page."""
        return self.next_cursor is not None

    def _following(self) -> PageRequest[T]:
        if self.next_cursor is None:
            raise ValueError("this is the last page")
        return self._request.after(self.next_cursor)

    def __repr__(self) -> str:
        more = ", and more" if self.has_next_page else ""
        return f"<{type(self).__name__} of {len(self.items)} items{more}>"


class Page(BasePage[T]):
    """A page. Iteration continues with the following pages. `items` has only this page."""

    def __init__(self, connection: Connection, request: PageRequest[T], body: Model) -> None:
        super().__init__(request, body)
        self._connection = connection

    @classmethod
    def ask(cls, connection: Connection, request: PageRequest[T]) -> Page[T]:
        """Get the page, or the raw response on a raw connection."""

        def decode(response: Any) -> Page[T]:
            body = request.operation.decode(response)
            return cls(connection.with_raw(False), request, body)

        page: Page[T] = connection.perform(request.call(decode))
        return page

    def next_page(self) -> Page[T]:
        """Get the next page. Raises ValueError on the last page."""
        return self.ask(self._connection, self._following())

    def pages(self) -> Iterator[Page[T]]:
        """Iterate over this page and the following pages. Each is fetched when needed."""
        page = self
        yield page
        while page.has_next_page:
            page = page.next_page()
            yield page

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items


class AsyncPage(BasePage[T]):
    """A page. Iteration continues with the following pages. `items` has only this page."""

    def __init__(self, connection: AsyncConnection, request: PageRequest[T], body: Model) -> None:
        super().__init__(request, body)
        self._connection = connection

    @classmethod
    async def ask(cls, connection: AsyncConnection, request: PageRequest[T]) -> AsyncPage[T]:
        """Get the page, or the raw response on a raw connection."""

        def decode(response: Any) -> AsyncPage[T]:
            body = request.operation.decode(response)
            return cls(connection.with_raw(False), request, body)

        page: AsyncPage[T] = await connection.perform(request.call(decode))
        return page

    async def next_page(self) -> AsyncPage[T]:
        """Get the next page. Raises ValueError on the last page."""
        return await self.ask(self._connection, self._following())

    async def pages(self) -> AsyncIterator[AsyncPage[T]]:
        """Iterate over this page and the following pages. Each is fetched when needed."""
        page = self
        yield page
        while page.has_next_page:
            page = await page.next_page()
            yield page

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item


class AsyncPages(Generic[T]):
    """A list that is fetched on use: `await` returns its first page, `async for` yields all items."""

    def __init__(self, connection: AsyncConnection, request: PageRequest[T]) -> None:
        request.call(request.operation.decode)  # reports invalid arguments here, not on first use
        self._connection = connection
        self._request = request

    def __await__(self) -> Generator[Any, Any, AsyncPage[T]]:
        page: Awaitable[AsyncPage[T]] = AsyncPage[T].ask(self._connection, self._request)
        return page.__await__()

    async def pages(self) -> AsyncIterator[AsyncPage[T]]:
        """Iterate over all pages. Each is fetched when needed."""
        async for page in (await self).pages():
            yield page

    async def __aiter__(self) -> AsyncIterator[T]:
        async for item in await self:
            yield item

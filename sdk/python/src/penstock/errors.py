"""What can go wrong.

    PenstockError
    ├── APIError                        the server's answer says no; has status_code, code, detail, …
    │   ├── BadRequestError             400
    │   ├── AuthenticationError         401
    │   ├── PermissionDeniedError       403
    │   ├── NotFoundError               404
    │   ├── ConflictError               409
    │   ├── UnprocessableEntityError    422
    │   ├── RateLimitError              429, has retry_after
    │   ├── InternalServerError         500 and above
    │   └── InvalidResponseError        an answer that is not Penstock's, whatever its status
    ├── APIConnectionError              there is no whole answer
    │   └── APITimeoutError             there was none in time
    └── WaitTimeoutError                the run went on for longer than was to be waited; a TimeoutError

An argument that is wrong is a TypeError or a ValueError, before anything is sent.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ._raw import RawResponse

if TYPE_CHECKING:
    from .types import FieldError


class PenstockError(Exception):
    """Base of all errors of this package."""


class APIError(PenstockError):
    """The server answered, and the answer is no success."""

    status_code: int
    """The HTTP status."""
    code: str | None
    """The kind of error, such as `resource_not_found`; None where the answer is no problem document."""
    title: str
    """The kind in words."""
    detail: str | None
    """What is wrong with this request."""
    request_id: str | None
    """Names the request in the server's log."""
    retryable: bool
    """Whether sending the same again can help, as far as the server says."""
    retry_after: float | None
    """Seconds that the server asks to wait."""
    errors: list[FieldError]
    """What is wrong with which field, by JSON pointer."""
    response: RawResponse[Any]
    """The answer: status, headers, body."""

    def __init__(self, response: RawResponse[Any], reason: str | None = None) -> None:
        # The arguments are kept as they are so that an error can be pickled.
        super().__init__(response, reason)
        from .types import Error  # noqa: PLC0415  # the models are not needed before something fails

        self.response = response
        self.status_code = response.status_code
        self.request_id = response.request_id
        self.retry_after = response.retry_after
        problem: Error | None = None
        if reason is None and "json" in response.media_type:
            try:
                problem = Error.model_validate_json(response.content)
            except ValueError:
                problem = None
        if problem is None:
            self.code, self.errors = None, []
            self.title, self.detail = _phrase(response.status_code), reason
            self._story = reason or f"{self.title}, from something that is not Penstock's API"
        else:
            self.code, self.errors = problem.type.rpartition("/")[2], problem.errors or []
            self.title, self.detail = problem.title, problem.detail
            self._story = problem.error
        said = response.should_retry
        self.retryable = said if said is not None else bool(problem and problem.retryable)

    def __str__(self) -> str:
        """Status, code, the server's words for it, the fields, and the id of the request."""
        text = f"{self.status_code} {self.code or ''}".rstrip() + f": {self._story}"
        text += "".join(f"\n  {e.pointer or '(body)'}: {e.detail}" for e in self.errors)
        return text + (f" (request {self.request_id})" if self.request_id else "")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown status"


class BadRequestError(APIError):
    """400: the request breaks a rule; `errors` names each field."""


class AuthenticationError(APIError):
    """401: there is no key, or it is unknown, expired or deleted."""


class PermissionDeniedError(APIError):
    """403: the key is good but may not do this."""


class NotFoundError(APIError):
    """404: there is no such thing, or it belongs to another team."""


class ConflictError(APIError):
    """409: the request clashes with another one."""


class UnprocessableEntityError(APIError):
    """422: well-formed, and cannot be carried out."""


class RateLimitError(APIError):
    """429: the key's budget is used up; `retry_after` says for how long."""


class InternalServerError(APIError):
    """500 and above: the server failed, and has logged why under `request_id`."""


class InvalidResponseError(APIError):
    """The answer is not one that Penstock gives: no JSON, cut short, of another type, or a redirect."""


class APIConnectionError(PenstockError):
    """No whole answer came: refused, reset, not trusted. `__cause__` is httpx's error."""


class APITimeoutError(APIConnectionError):
    """No whole answer came in time. The server may have done what was asked."""


class WaitTimeoutError(PenstockError, TimeoutError):
    """The run was not over in time; it goes on."""


_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def api_error(response: RawResponse[Any]) -> APIError:
    """The error for an answer that is no success."""
    status = response.status_code
    if 300 <= status < 400:
        # No more of the address than the host: it may be a signed link.
        location: str = response.headers.get("location", "")
        parts = urlsplit(location)
        where = f"{parts.scheme}://{parts.netloc}" if parts.netloc else "another path"
        return InvalidResponseError(
            response, f"the server redirects to {where}; is base_url right?"
        )
    if status < 300:
        return InvalidResponseError(response, f"{status} is not an answer to this request")
    kind = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIError)
    return kind(response)

"""Exceptions.

    PenstockError
    ├── APIError                        an error response; has status_code, code, detail, …
    │   ├── BadRequestError             400
    │   ├── AuthenticationError         401
    │   ├── PermissionDeniedError       403
    │   ├── NotFoundError               404
    │   ├── ConflictError               409
    │   ├── UnprocessableEntityError    422
    │   ├── RateLimitError              429, has retry_after
    │   ├── InternalServerError         500 and above
    │   └── InvalidResponseError        a response that is not Penstock's, with any status
    ├── APIConnectionError              no complete response
    │   └── APITimeoutError             no complete response in time
    ├── WaitTimeoutError                the run did not end in time; a TimeoutError
    └── VerificationError               `verify` refused a message to an event endpoint; has reason

An invalid argument raises TypeError or ValueError before a request is sent.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from ._raw import RawResponse

if TYPE_CHECKING:
    from .types import FieldError


class PenstockError(Exception):
    """Base of all errors of this package."""


class APIError(PenstockError):
    """The server returned an error response."""

    status_code: int
    """The HTTP status."""
    code: str | None
    """The kind of error, such as `resource_not_found`; None if the response is not a problem document."""
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
    """The response: status, headers, body."""

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
        """Return the status, code, message, invalid fields and request id."""
        text = f"{self.status_code} {self.code or ''}".rstrip() + f": {self._story}"
        text += "".join(f"\n  {e.pointer or '(body)'}: {e.detail}" for e in self.errors)
        return text + (f" (request {self.request_id})" if self.request_id else "")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown status"


class BadRequestError(APIError):
    """400: the request is invalid. `errors` names each invalid field."""


class AuthenticationError(APIError):
    """401: the key is missing, unknown, expired or deleted."""


class PermissionDeniedError(APIError):
    """403: the key is valid but does not allow this operation."""


class NotFoundError(APIError):
    """404: the resource does not exist, or belongs to another team."""


class ConflictError(APIError):
    """409: the request conflicts with the current state or another request."""


class UnprocessableEntityError(APIError):
    """422: the request is well-formed but cannot be applied to this resource."""


class RateLimitError(APIError):
    """429: the key's request budget is used up. `retry_after` says how long to wait."""


class InternalServerError(APIError):
    """500 and above: the server failed. Its log has the cause under `request_id`."""


class InvalidResponseError(APIError):
    """The response is not Penstock's: not JSON, truncated, of another type, or a redirect."""


class APIConnectionError(PenstockError):
    """No complete response: refused, reset or untrusted. `__cause__` is httpx's error."""


class APITimeoutError(APIConnectionError):
    """No complete response in time. The server may have processed the request."""


class WaitTimeoutError(PenstockError, TimeoutError):
    """The run did not end in time. It continues."""


VerificationReason: TypeAlias = Literal[
    "body", "header", "secret", "too_old", "from_future", "no_match"
]
"""What is wrong with the body, the headers or a secret, or the time or signature of a message."""


class VerificationError(PenstockError):
    """A message to an event endpoint was refused. Its text says why, and never contains a secret."""

    reason: VerificationReason
    """What is wrong."""

    def __init__(self, reason: VerificationReason, text: str) -> None:
        super().__init__(reason, text)
        self.reason = reason

    def __str__(self) -> str:
        """Return what is wrong and what to do."""
        return str(self.args[1])


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
    """Return the exception for an error response."""
    status = response.status_code
    if 300 <= status < 400:
        # Only the host of the URL: it may be a signed link.
        location: str = response.headers.get("location", "")
        parts = urlsplit(location)
        where = f"{parts.scheme}://{parts.netloc}" if parts.netloc else "another path"
        return InvalidResponseError(
            response, f"the server redirects to {where}; is base_url right?"
        )
    if status < 300:
        return InvalidResponseError(response, f"{status} is not a response to this request")
    kind = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIError)
    return kind(response)

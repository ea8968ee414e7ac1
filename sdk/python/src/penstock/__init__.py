"""Penstock's API: create, watch, steer and cancel runs of coding agents.

    from penstock import Penstock

    with Penstock() as client:
        run = client.runs.create(prompt="Fix the flaky login test")
        print(client.runs.wait(run.run_id).state)

`Penstock` and `AsyncPenstock` have the same methods. Their arguments are in `penstock.params`, their
results in `penstock.types` and their exceptions in `penstock.errors`. `verify` checks messages to
event endpoints. `penstock.testing` has a fake server for your own tests.
"""

from . import errors, params, types
from ._client import AsyncPenstock, Penstock
from ._events import AsyncEventStream, EventStream
from ._options import Timeout
from ._pages import AsyncPage, AsyncPages, Page
from ._raw import RawResponse
from ._verify import verify
from ._version import __version__
from .errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    InvalidResponseError,
    NotFoundError,
    PenstockError,
    PermissionDeniedError,
    RateLimitError,
    UnprocessableEntityError,
    VerificationError,
    WaitTimeoutError,
)

__all__ = [
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncEventStream",
    "AsyncPage",
    "AsyncPages",
    "AsyncPenstock",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "EventStream",
    "InternalServerError",
    "InvalidResponseError",
    "NotFoundError",
    "Page",
    "Penstock",
    "PenstockError",
    "PermissionDeniedError",
    "RateLimitError",
    "RawResponse",
    "Timeout",
    "UnprocessableEntityError",
    "VerificationError",
    "WaitTimeoutError",
    "__version__",
    "errors",
    "params",
    "types",
    "verify",
]

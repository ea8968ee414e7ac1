import type { ErrorCode, FieldError, Error as Problem } from './types.gen.js';

/**
 * Base of all errors of this SDK.
 *
 *     PenstockError                    also thrown for invalid arguments, before a request is sent
 *     ├── APIError                     the server returned an error response
 *     │   ├── BadRequestError          400
 *     │   ├── AuthenticationError      401
 *     │   ├── PermissionDeniedError    403
 *     │   ├── NotFoundError            404
 *     │   ├── ConflictError            409
 *     │   ├── UnprocessableEntityError 422
 *     │   ├── RateLimitError           429
 *     │   ├── InternalServerError      5xx
 *     │   └── InvalidResponseError     not from the API: HTML with status 200, a redirect
 *     ├── APIConnectionError           no complete response
 *     │   └── APITimeoutError          no complete response in time
 *     ├── WaitTimeoutError             the run did not end in time
 *     └── VerificationError            verify refused a message to an event endpoint
 *
 * If your own signal aborts a call, the call throws the signal's reason, not an error of this SDK.
 */
export class PenstockError extends Error {
  override name = 'PenstockError';
}

/** The parts of a response for an {@link APIError}. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The body. */
  readonly text: string;
}

/** The server returned an error response. */
export class APIError extends PenstockError {
  override name = 'APIError';
  /** The HTTP status. 0 for a redirect that the browser hides from the page. */
  readonly statusCode: number;
  /** The error code, such as `conflict`. Undefined if the response is not from the API. */
  readonly code: ErrorCode | undefined;
  /** The error code in words. */
  readonly title: string | undefined;
  /** What is wrong with this request. */
  readonly detail: string | undefined;
  /** Id of the request in the server's log. */
  readonly requestId: string | undefined;
  /** Whether a retry can help. */
  readonly retryable: boolean;
  /** The invalid fields, by JSON pointer. Can be empty. */
  readonly errors: readonly FieldError[];
  /** The complete problem document (RFC 9457), including unknown fields. Undefined if there is none. */
  readonly problem: Problem | undefined;
  /** The headers of the response. */
  readonly headers: Headers;
  readonly #response: ErrorResponse;

  constructor(response: ErrorResponse, message?: string) {
    const problem = parseProblem(response.text);
    super(message ?? (problem?.error || `${response.status} ${excerpt(response.text)}`.trim()));
    this.#response = response;
    this.statusCode = response.status;
    this.headers = response.headers;
    this.problem = problem;
    this.code = problem?.type?.slice(problem.type.lastIndexOf('/') + 1);
    this.title = problem?.title;
    this.detail = problem?.detail;
    this.errors = problem?.errors ?? [];
    this.requestId = response.headers.get('X-Request-Id') ?? undefined;
    this.retryable = isRetryable(response);
  }

  /** The raw response. Each access returns a new one with an unread body. */
  get response(): Response {
    return responseOf(this.#response);
  }
}

/** 400: the request is invalid. `errors` names each invalid field. */
export class BadRequestError extends APIError {
  override name = 'BadRequestError';
}

/** 401: the key is missing, unknown, expired or deleted. */
export class AuthenticationError extends APIError {
  override name = 'AuthenticationError';
}

/** 403: the key is valid but does not allow this operation. */
export class PermissionDeniedError extends APIError {
  override name = 'PermissionDeniedError';
}

/** 404: the resource does not exist, or belongs to another team. */
export class NotFoundError extends APIError {
  override name = 'NotFoundError';
}

/** 409: the request conflicts with the current state or another request. */
export class ConflictError extends APIError {
  override name = 'ConflictError';
}

/** 422: the request is well-formed but cannot be applied to this resource. */
export class UnprocessableEntityError extends APIError {
  override name = 'UnprocessableEntityError';
}

/** 429: the key's request budget is used up. */
export class RateLimitError extends APIError {
  override name = 'RateLimitError';
  /** Seconds to wait before a retry. Undefined if the server did not say. */
  readonly retryAfter: number | undefined;

  constructor(response: ErrorResponse) {
    super(response);
    this.retryAfter = retryAfterOf(response.headers);
  }
}

/** 5xx: the server failed or is unavailable. */
export class InternalServerError extends APIError {
  override name = 'InternalServerError';
}

/** The response is not from the API: not JSON, another content type, or a redirect. Often `baseURL` is wrong, or a proxy responded. */
export class InvalidResponseError extends APIError {
  override name = 'InvalidResponseError';
}

/** No complete response: no connection, an untrusted certificate, or a broken connection. `cause` says why. */
export class APIConnectionError extends PenstockError {
  override name = 'APIConnectionError';
}

/** No complete response in time. */
export class APITimeoutError extends APIConnectionError {
  override name = 'APITimeoutError';
}

/** The run did not end in time. It continues. */
export class WaitTimeoutError extends PenstockError {
  override name = 'WaitTimeoutError';
}

const classes: Record<number, new (response: ErrorResponse) => APIError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

/** The error for a response, by its status. */
export function errorOf(response: ErrorResponse): APIError {
  const Class = classes[response.status] ?? (response.status >= 500 ? InternalServerError : APIError);
  return new Class(response);
}

/** `Retry-After` in seconds. The header can also be a date. */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('Retry-After');
  if (!value) {
    return undefined;
  }
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** A new Response from a response that was read. */
export function responseOf({ status, headers, text }: ErrorResponse): Response {
  if (status === 0) {
    return Response.error();
  }
  const isEmpty = status === 204 || status === 205 || status === 304; // Fetch Standard: null body status
  return new Response(isEmpty ? null : text, { status, headers });
}

/** The beginning of a text, on one line. */
export function excerpt(text: string): string {
  const line = text.slice(0, 400).replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** `X-Should-Retry` decides. A response without it is not from the API, but for example from a proxy. */
function isRetryable({ status, headers }: ErrorResponse): boolean {
  const told = headers.get('X-Should-Retry');
  return told ? told === 'true' : status === 408 || status === 429 || status >= 500;
}

function parseProblem(text: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isProblem = typeof value === 'object' && value !== null && 'error' in value && 'type' in value;
    return isProblem && typeof value.type === 'string' ? (value as Problem) : undefined;
  } catch {
    return undefined;
  }
}

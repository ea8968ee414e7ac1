import type { ErrorCode, FieldError, Error as Problem } from './types.gen.js';

/**
 * What every error of this SDK is.
 *
 *     PenstockError                    also wrong arguments, found before anything is sent
 *     ├── APIError                     the server answered, and not with what was asked for
 *     │   ├── BadRequestError          400
 *     │   ├── AuthenticationError      401
 *     │   ├── PermissionDeniedError    403
 *     │   ├── NotFoundError            404
 *     │   ├── ConflictError            409
 *     │   ├── UnprocessableEntityError 422
 *     │   ├── RateLimitError           429
 *     │   ├── InternalServerError      5xx
 *     │   └── InvalidResponseError     not the API's: HTML with status 200, a redirect
 *     ├── APIConnectionError           no whole answer came
 *     │   └── APITimeoutError          not in time
 *     └── WaitTimeoutError             the run went on for longer than was to be waited
 *
 * An abort by a signal of yours is no error of this SDK: what is thrown is the signal's reason.
 */
export class PenstockError extends Error {
  override name = 'PenstockError';
}

/** What is known of an answer that an {@link APIError} is made of. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The body. */
  readonly text: string;
}

/** The server answered, and the answer is no success. */
export class APIError extends PenstockError {
  override name = 'APIError';
  /** The HTTP status; 0 for a redirect that a page is told nothing about. */
  readonly statusCode: number;
  /** The error code, such as `conflict`; undefined when the answer was not the API's. */
  readonly code: ErrorCode | undefined;
  /** The error code in words. */
  readonly title: string | undefined;
  /** What is wrong with this request. */
  readonly detail: string | undefined;
  /** Names the request in the server's log. */
  readonly requestId: string | undefined;
  /** Whether sending the same request again can help. */
  readonly retryable: boolean;
  /** Each field that is wrong, by JSON pointer; empty when none is named. */
  readonly errors: readonly FieldError[];
  /** The whole problem document (RFC 9457), with fields that this SDK does not know; undefined when there is none. */
  readonly problem: Problem | undefined;
  /** The headers of the answer. */
  readonly headers: Headers;
  readonly #answer: ErrorAnswer;

  constructor(answer: ErrorAnswer, message?: string) {
    const problem = parseProblem(answer.text);
    super(message ?? (problem?.error || `${answer.status} ${excerpt(answer.text)}`.trim()));
    this.#answer = answer;
    this.statusCode = answer.status;
    this.headers = answer.headers;
    this.problem = problem;
    this.code = problem?.type?.slice(problem.type.lastIndexOf('/') + 1);
    this.title = problem?.title;
    this.detail = problem?.detail;
    this.errors = problem?.errors ?? [];
    this.requestId = answer.headers.get('X-Request-Id') ?? undefined;
    this.retryable = isRetryable(answer);
  }

  /** The raw answer; each time a new one, whose body can be read. */
  get response(): Response {
    return responseOf(this.#answer);
  }
}

/** 400: the request cannot be understood or breaks a rule; `errors` names each field. */
export class BadRequestError extends APIError {
  override name = 'BadRequestError';
}

/** 401: there is no key, or it is unknown, expired or deleted. */
export class AuthenticationError extends APIError {
  override name = 'AuthenticationError';
}

/** 403: the key is good but may not do this. */
export class PermissionDeniedError extends APIError {
  override name = 'PermissionDeniedError';
}

/** 404: there is no such thing, or it belongs to another team. */
export class NotFoundError extends APIError {
  override name = 'NotFoundError';
}

/** 409: the request clashes with another one. */
export class ConflictError extends APIError {
  override name = 'ConflictError';
}

/** 422: the request is well-formed, and cannot be carried out. */
export class UnprocessableEntityError extends APIError {
  override name = 'UnprocessableEntityError';
}

/** 429: the key's budget is used up. */
export class RateLimitError extends APIError {
  override name = 'RateLimitError';
  /** After how many seconds the request may be sent again; undefined when the server did not say. */
  readonly retryAfter: number | undefined;

  constructor(answer: ErrorAnswer) {
    super(answer);
    this.retryAfter = retryAfterOf(answer.headers);
  }
}

/** 5xx: the server failed, or cannot do this now. */
export class InternalServerError extends APIError {
  override name = 'InternalServerError';
}

/** The answer is none of the API's: no JSON, another content type, a redirect. Often `baseURL` is wrong, or a proxy has answered. */
export class InvalidResponseError extends APIError {
  override name = 'InvalidResponseError';
}

/** No answer came, or not all of it: no connection, an untrusted certificate, a connection that broke. `cause` says why. */
export class APIConnectionError extends PenstockError {
  override name = 'APIConnectionError';
}

/** The time was over before the answer was there. */
export class APITimeoutError extends APIConnectionError {
  override name = 'APITimeoutError';
}

/** The run was not over in time; it goes on. */
export class WaitTimeoutError extends PenstockError {
  override name = 'WaitTimeoutError';
}

const classes: Record<number, new (answer: ErrorAnswer) => APIError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

/** The error for an answer, by its status. */
export function errorOf(answer: ErrorAnswer): APIError {
  const Class = classes[answer.status] ?? (answer.status >= 500 ? InternalServerError : APIError);
  return new Class(answer);
}

/** The seconds of `Retry-After`, which may be a date as well. */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('Retry-After');
  if (!value) {
    return undefined;
  }
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** An answer that was read as a Response again. */
export function responseOf({ status, headers, text }: ErrorAnswer): Response {
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

/** `X-Should-Retry` decides; an answer without it is not the API's own, such as a proxy's. */
function isRetryable({ status, headers }: ErrorAnswer): boolean {
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

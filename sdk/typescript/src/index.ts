export { Penstock } from './client.js';
export {
  APIConnectionError,
  APIError,
  APITimeoutError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  type ErrorResponse,
  InternalServerError,
  InvalidResponseError,
  NotFoundError,
  PenstockError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
  WaitTimeoutError,
} from './errors.js';
export { EventStream, type StreamOptions } from './events.js';
export type { Known, Open, Unrecognized } from './open.js';
export type { ClientOptions, Fetch, HeaderValues, Logger, RequestOptions } from './options.js';
export { Page, PagePromise } from './page.js';
export { APIPromise, type WithResponse } from './promise.js';
export type * from './resources.gen.js';
export type * from './types.gen.js';
export { type MessageHeaders, VerificationError, type VerificationReason, type VerifyOptions, verify } from './verify.js';
export { version } from './version.js';
export type { WaitOptions } from './wait.js';

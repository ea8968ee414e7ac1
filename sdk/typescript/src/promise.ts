/** The data of a response with the raw response. */
export interface WithResponse<T> {
  data: T;
  /** The raw response. Its body can be read. */
  response: Response;
  /** Id of the request in the server's log. */
  requestId: string | undefined;
}

/** The result of a request. */
export interface Outcome<T> {
  data: T;
  /** Returns the response: a new one each time, unless its body is a stream. */
  response: () => Response;
}

/** A promise of the data of a response. The request is sent immediately, whether or not it is awaited. */
export class APIPromise<T> implements Promise<T> {
  readonly #outcome: Promise<Outcome<T>>;

  constructor(outcome: Promise<Outcome<T>>) {
    this.#outcome = outcome;
  }

  /** The data together with the raw response. */
  async withResponse(): Promise<WithResponse<T>> {
    const { data, response } = await this.#outcome;
    const made = response();
    return { data, response: made, requestId: made.headers.get('X-Request-Id') ?? undefined };
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#outcome.then(({ data }) => data).then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected);
  }

  finally(done?: (() => void) | null): Promise<T> {
    return this.then().finally(done);
  }

  get [Symbol.toStringTag](): string {
    return 'APIPromise';
  }
}

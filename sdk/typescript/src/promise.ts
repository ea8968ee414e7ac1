/** The data of an answer with the answer itself. */
export interface WithResponse<T> {
  data: T;
  /** Status, headers and body as they came. Its body can be read. */
  response: Response;
  /** Names the request in the server's log. */
  requestId: string | undefined;
}

/** What came of a request. */
export interface Outcome<T> {
  data: T;
  /** Makes the response; each time a new one, unless its body is a stream. */
  response: () => Response;
}

/** The promise of an answer's data. The request is on its way when it is made, whether it is awaited or not. */
export class APIPromise<T> implements Promise<T> {
  readonly #outcome: Promise<Outcome<T>>;

  constructor(outcome: Promise<Outcome<T>>) {
    this.#outcome = outcome;
  }

  /** The data together with the raw answer. */
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

import { PenstockError } from './errors.js';
import { APIPromise, type Outcome } from './promise.js';

/** Fetches the page of a cursor. */
type Fetcher<B, T> = (cursor: string) => PagePromise<B, T>;

/** One page of a list. B is the response body, T an item. */
export class Page<B, T> implements AsyncIterable<T> {
  /** The items of this page. */
  readonly items: T[];
  /** The response body. */
  readonly data: B;
  /** The cursor of the next page. Undefined on the last page. */
  readonly nextCursor: string | undefined;
  readonly #fetch: Fetcher<B, T>;

  constructor(data: B, field: string, fetch: Fetcher<B, T>) {
    const body = data as { page_info?: { has_next_page?: boolean; next_cursor?: string } } & Record<string, unknown>;
    this.data = data;
    this.items = (body[field] ?? []) as T[];
    this.nextCursor = body.page_info?.has_next_page ? body.page_info.next_cursor : undefined;
    this.#fetch = fetch;
  }

  hasNextPage(): boolean {
    return this.nextCursor !== undefined;
  }

  /** The next page. Throws on the last page. */
  async nextPage(): Promise<Page<B, T>> {
    if (this.nextCursor === undefined) {
      throw new PenstockError('this is the last page');
    }
    const next = await this.#fetch(this.nextCursor);
    if (next.nextCursor === this.nextCursor) {
      throw new PenstockError('the server returned the cursor of the same page again');
    }
    return next;
  }

  /** This page and all following pages. */
  async *pages(): AsyncGenerator<Page<B, T>, void, undefined> {
    let page: Page<B, T> = this;
    yield page;
    while (page.hasNextPage()) {
      page = await page.nextPage();
      yield page;
    }
  }

  /** The items of this page and of all following pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) {
      yield* page.items;
    }
  }
}

/** A promise of a page that can also be iterated: `for await (const run of client.runs.list())`. */
export class PagePromise<B, T> extends APIPromise<Page<B, T>> implements AsyncIterable<T> {
  constructor(body: Promise<Outcome<B>>, field: string, fetch: Fetcher<B, T>) {
    super(body.then(({ data, response }) => ({ data: new Page(data, field, fetch), response })));
  }

  /** All pages. */
  async *pages(): AsyncGenerator<Page<B, T>, void, undefined> {
    yield* (await this).pages();
  }

  /** The items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    yield* await this;
  }
}

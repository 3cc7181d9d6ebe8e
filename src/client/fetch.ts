/** The part of `fetch` that commands use. A server's socket answers in the same form. */
export type Fetch = (url: string, options?: FetchOptions) => Promise<Fetched>;

export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** No request of a command follows a redirect, because its key must not reach another host. */
  redirect?: "manual" | "error";
  signal?: AbortSignal;
}

export interface Fetched {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: FetchedHeaders;
  /** An iteration that ends early ends the connection. */
  readonly body: AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

export interface FetchedHeaders {
  get(name: string): string | null;
}

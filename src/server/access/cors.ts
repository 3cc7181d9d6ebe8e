import type { Operation } from "../../contract/operation.ts";
import type { Header } from "../responses.ts";

const EXPOSED = [
  "ETag",
  "Next-Cursor",
  "Link",
  "Error-Code",
  "Request-Id",
  "Retry-After",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Idempotent-Replayed",
  "Audit-Seq",
  "Audit-Hash",
  "Audit-Time",
  "Audit-Key-Id",
].join(", ");
const ALLOWED = "x-api-key, authorization, content-type, idempotency-key, if-none-match, last-event-id";
const PREFLIGHT_SECONDS = 7200;

/** Pages may call the traders' operations. An admin key must never be in a page, and webhooks come from servers. */
export function isForBrowsers({ auth }: Pick<Operation, "auth">): boolean {
  return auth === "none" || auth === "public" || auth === "user";
}

/** Which pages may read answers. Credentials are not allowed: keys and tokens are sent in headers. */
export class Cors {
  /** The headers for each listed origin. */
  readonly #byOrigin: Map<string, readonly Header[]>;
  /** The headers for all other origins: `Vary`, so that no cache serves this answer to a listed origin. */
  readonly #others: readonly Header[];

  constructor(origins: readonly string[]) {
    const vary: Header = ["vary", "Origin"];
    this.#others = origins.length === 0 ? [] : [vary];
    this.#byOrigin = new Map(
      origins.map((origin) => [
        origin,
        [vary, ["access-control-allow-origin", origin], ["access-control-expose-headers", EXPOSED]],
      ]),
    );
  }

  headers(origin: string | undefined): readonly Header[] {
    return (origin !== undefined && this.#byOrigin.get(origin)) || this.#others;
  }

  /** @param methods the path's methods that need no admin key */
  preflightHeaders(origin: string | undefined, methods: readonly string[]): readonly Header[] {
    const headers = this.headers(origin);
    if (headers === this.#others) return headers;
    return [
      ...headers,
      ["access-control-allow-methods", methods.join(", ")],
      ["access-control-allow-headers", ALLOWED],
      ["access-control-max-age", String(PREFLIGHT_SECONDS)],
    ];
  }
}

import { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";

/** Pages that are trusted to act: those of the listed origins, and the tenant's own. */
export class Origins {
  readonly #allowed: ReadonlySet<string>;

  /** @param baseUrl the tenant's own address, where it is known */
  constructor(listed: readonly string[], baseUrl: string | undefined) {
    this.#allowed = new Set([...listed, ...(baseUrl === undefined ? [] : [new URL(baseUrl).origin])]);
  }

  /** Whether a page of this origin is trusted, given the host that this request was sent to. */
  includes(origin: string, exchange: Exchange): boolean {
    return this.#allowed.has(origin) || isOwn(origin, exchange.header("host"));
  }

  /**
   * For requests with a cookie, which a browser adds to requests of any page. Browsers send `Origin` with everything but
   * simple reads, or at least `Sec-Fetch-Site`, and no page can forge either.
   * @throws Fault ORIGIN_FORBIDDEN
   */
  require(exchange: Exchange): void {
    const origin = exchange.header("origin");
    const allowed =
      origin === undefined ? exchange.header("sec-fetch-site") === "same-origin" : this.includes(origin, exchange);
    if (!allowed) throw new Fault("ORIGIN_FORBIDDEN", "This page may not act with the session cookie");
  }
}

/** By host: behind a proxy that ends TLS the scheme seen here is not the browser's. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

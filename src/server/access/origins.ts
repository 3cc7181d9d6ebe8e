import { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";

/** Pages that are trusted to act: pages of the listed origins and of the tenant itself. */
export class Origins {
  readonly #allowed: ReadonlySet<string>;

  /** @param baseUrl the tenant's own address, if known */
  constructor(listed: readonly string[], baseUrl: string | undefined) {
    this.#allowed = new Set([...listed, ...(baseUrl === undefined ? [] : [new URL(baseUrl).origin])]);
  }

  /** Whether a page of this origin is trusted, given the host that this request names. */
  includes(origin: string, exchange: Exchange): boolean {
    return this.#allowed.has(origin) || isOwn(origin, exchange.header("host"));
  }

  /**
   * For requests with a cookie, which a browser adds to requests of any page. Browsers send `Origin`, or at least
   * `Sec-Fetch-Site`, with everything but simple reads, and no page can forge either header.
   * @throws Fault ORIGIN_FORBIDDEN
   */
  require(exchange: Exchange): void {
    const origin = exchange.header("origin");
    const allowed =
      origin === undefined ? exchange.header("sec-fetch-site") === "same-origin" : this.includes(origin, exchange);
    if (!allowed) throw new Fault("ORIGIN_FORBIDDEN", "This page may not act with the session cookie");
  }
}

/** Compares hosts only: behind a proxy that terminates TLS, the server does not see the browser's scheme. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

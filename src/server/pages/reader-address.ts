import { type HostNames, requestedHost } from "../../domain/access/host-names.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { ClientAddresses } from "../client-address.ts";
import type { Exchange } from "../exchange.ts";

/** A host name or address with an optional port, without a user or a path. */
const HOST = /^([a-z\d.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;

export interface ReaderAddressOptions {
  /** The tenant's own address; undefined if unknown, as in tests. */
  baseUrl: string | undefined;
  /** The hosts that the server answers. */
  hosts: HostNames;
  /** Knows which proxies are trusted to state the scheme. */
  addresses: ClientAddresses;
}

/**
 * The address under which a reader came, for examples that readers copy. An unlisted host is never repeated: otherwise
 * a request with a forged host could put a foreign address into a page or a cache.
 */
export class ReaderAddress {
  readonly #options: ReaderAddressOptions;
  readonly #own: URL | undefined;

  constructor(options: ReaderAddressOptions) {
    this.#options = options;
    this.#own = options.baseUrl === undefined ? undefined : new URL(options.baseUrl);
  }

  /** The origin of the requested loopback or listed host; else the tenant's own. */
  originFor(exchange: Exchange): string {
    const asked = this.#asked(exchange);
    if (asked !== undefined) return asked;
    return this.#own?.origin ?? `${this.#scheme(exchange)}://localhost:${exchange.req.socket.localPort}`;
  }

  /** Whether this is the tenant's own origin, which many readers share. */
  isOwn(origin: string): boolean {
    return origin === this.#own?.origin;
  }

  #asked(exchange: Exchange): string | undefined {
    const { req } = exchange;
    const host = requestedHost(req.url, req.headers.host);
    const scheme = this.#scheme(exchange);
    if (!HOST.test(host) || !URL.canParse(`${scheme}://${host}`)) return undefined;
    const url = new URL(`${scheme}://${host}`);
    if (isLoopback(url.hostname)) return url.origin;
    if (url.hostname !== this.#own?.hostname && !this.#options.hosts.has(url.host)) return undefined;
    const isHere = url.port !== "" && Number(url.port) === req.socket.localPort;
    // Without a port, a proxy is in front, and listed hosts use the scheme of the tenant's address.
    if (url.port === "" && this.#own?.protocol === "https:") url.protocol = "https:";
    return url.port === "" || isHere || this.isOwn(url.origin) ? url.origin : undefined;
  }

  #scheme({ req: { socket, headers } }: Exchange): "https" | "http" {
    if ("encrypted" in socket && socket.encrypted) return "https";
    const { addresses } = this.#options;
    return addresses.schemeOf(socket.remoteAddress, headers["x-forwarded-proto"]) === "https" ? "https" : "http";
  }
}

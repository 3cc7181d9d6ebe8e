import { TLSSocket } from "node:tls";
import { requestedHost } from "../../domain/access/host-names.ts";
import { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/** Decides which pages may send requests to the console, and under which names it answers. */
export class OriginGuard {
  readonly #stated: readonly URL[];

  /** @param origins those of the tenant file, in addition to the loopback names with the listener's own port */
  constructor(origins: readonly string[]) {
    this.#stated = origins.map((origin) => new URL(origin));
  }

  /**
   * Other names are refused, because a hostile page may give its own name our address (DNS rebinding). Browsers state a
   * page's origin and its relation to the target truthfully; other clients need a session's cookie all the same.
   * @param mayBeOpened whether a person may open the address directly, which no page has asked for
   * @throws Fault ORIGIN_FORBIDDEN
   */
  require(exchange: Exchange, mayBeOpened: boolean): void {
    const { req } = exchange;
    const host = requestedHost(req.url, req.headers.host).toLowerCase();
    const own = this.#originsOf(exchange).filter((origin) => origin.host === host || fullHost(origin) === host);
    const isNamed = exchange.header("host")?.toLowerCase() === host;
    if (own.length === 0 || !isNamed) throw forbidden("The console is not served under this host");
    const origin = exchange.header("origin");
    const isRead = req.method === "GET" || req.method === "HEAD";
    const isOwn = origin === undefined ? isRead : own.some((each) => each.origin === origin);
    const site = exchange.header("sec-fetch-site");
    const isSameSite = site === undefined || site === "same-origin" || (site === "none" && mayBeOpened && isRead);
    if (!isOwn || !isSameSite) throw forbidden("Only the console's own page may send this");
  }

  #originsOf({ req: { socket } }: Exchange): URL[] {
    const scheme = socket instanceof TLSSocket ? "https" : "http";
    return [...this.#stated, ...LOOPBACK.map((name) => new URL(`${scheme}://${name}:${socket.localPort}`))];
  }
}

/** The host with its port, even if that is the scheme's usual one. */
function fullHost({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

function forbidden(message: string): Fault {
  return new Fault("ORIGIN_FORBIDDEN", message);
}

import { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";

/** The host names under which admin operations exist; without any, they exist under every name. */
export class AdminHosts {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(plainName));
  }

  /** @throws Fault NOT_FOUND, the same answer as for an unknown path */
  require(exchange: Exchange): void {
    if (this.#names.size === 0) return;
    const hosts = [exchange.header("host") ?? "", ...targetHosts(exchange.req.url ?? "")];
    if (!hosts.every((host) => this.#names.has(hostName(host)))) throw new Fault("NOT_FOUND", "Not found");
  }
}

/** The host of a request target that is a whole URL: a proxy in front may go by it instead of by `Host`. */
function targetHosts(target: string): string[] {
  if (target.startsWith("/")) return [];
  return [URL.canParse(target) ? new URL(target).host : ""];
}

/** A `Host` without its port. */
function hostName(host: string): string {
  return plainName(host.replace(/:\d*$/, ""));
}

/** Without what does not tell names apart: case, the dot of the root, and the brackets of an IPv6 address. */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^\[|\]$/g, "");
}

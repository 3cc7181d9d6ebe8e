import { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";

/** The names under which admin operations exist; without any, every name is one. */
export class AdminHosts {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(plainName));
  }

  /** @throws Fault NOT_FOUND, the same as for a path that nothing is at */
  require(exchange: Exchange): void {
    if (this.#names.size === 0) return;
    const hosts = [exchange.header("host") ?? "", ...targetHosts(exchange.req.url ?? "")];
    if (!hosts.every((host) => this.#names.has(hostName(host)))) throw new Fault("NOT_FOUND", "Not found");
  }
}

/** The host of a request target that is a whole URL. Some servers prefer it to `Host`, and a proxy in front may use either. */
function targetHosts(target: string): string[] {
  if (target.startsWith("/")) return [];
  return [URL.canParse(target) ? new URL(target).host : ""];
}

/** A `Host` without its port. */
function hostName(host: string): string {
  return plainName(host.replace(/:\d*$/, ""));
}

/** Names differ neither by case nor by the dot of the root; an IPv6 address may come in brackets. */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^\[|\]$/g, "");
}

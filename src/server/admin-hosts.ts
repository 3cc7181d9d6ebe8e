import { Fault } from "../domain/fault.ts";
import type { Exchange } from "./exchange.ts";

/** The names under which admin operations exist; without any, every name is one. */
export class AdminHosts {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(plainName));
  }

  /** @throws Fault NOT_FOUND, the same as for a path that nothing is at */
  require(exchange: Exchange): void {
    if (this.#names.size > 0 && !this.#names.has(hostName(exchange.header("host") ?? "")))
      throw new Fault("NOT_FOUND", "Not found");
  }
}

/** Of `Host`, what stands before the port. */
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

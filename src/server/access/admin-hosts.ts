import { HostNames, targetHost } from "../../domain/access/host-names.ts";
import { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";

/** The host names under which admin operations exist. An empty list allows every name. */
export class AdminHosts {
  readonly #names: HostNames;

  constructor(names: readonly string[]) {
    this.#names = new HostNames(names);
  }

  /** @throws Fault NOT_FOUND, exactly as for an unknown path */
  require(exchange: Exchange): void {
    if (this.#names.isEmpty || exchange.isCommand) return;
    // A proxy in front may route by the request target instead of by `Host`.
    const hosts = [exchange.header("host") ?? "", targetHost(exchange.req.url ?? "") ?? []].flat();
    if (!hosts.every((host) => this.#names.has(host))) throw new Fault("NOT_FOUND", "Not found");
  }
}

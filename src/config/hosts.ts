import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { isLoopback } from "../domain/access/networks.ts";
import type { Finding, Problem } from "./config-error.ts";
import type { TenantConfig } from "./tenant-config.ts";

type Addressed = Pick<TenantConfig, "baseUrl" | "server">;

/** The hosts that a tenant's own server answers; empty for any. */
export function servedHosts(config: Addressed): string[] {
  return config.server.hosts.length === 0 ? [] : hostsOf(config);
}

/** The hosts that identify a tenant's requests if several tenants share a port. */
export function hostsOf(config: Addressed): string[] {
  return [...new Set(ownHosts(config).map(({ host }) => host))];
}

/**
 * A host for commands to use with a server that answers only some hosts; undefined if any host works.
 * @param served the hosts that the server answers; empty for any
 */
export function commandHost(config: Addressed, served = servedHosts(config)): string | undefined {
  const { adminHosts } = config.server;
  const [host] = adminHosts.length > 0 ? adminHosts : served;
  if (host === undefined) return undefined;
  const name = host.replace(/^\*/, "pmctl");
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
}

/** Hosts of a tenant that an earlier tenant also has: requests for such a host would be ambiguous. */
export function repeatedHosts(configs: readonly (Addressed & Pick<TenantConfig, "tenant" | "source">)[]): Problem[] {
  const tenants = new Map<string, string>();
  return configs.flatMap((config) => {
    const findings = ownHosts(config).flatMap(({ host, path }): Finding[] => {
      const other = tenants.get(host) ?? config.tenant;
      tenants.set(host, other);
      if (other === config.tenant) return [];
      return [{ path, message: `${host} is a host of both ${other} and ${config.tenant}`, code: "CONFLICT" }];
    });
    return config.source.problems(findings);
  });
}

/** The stated hosts, and the host of the tenant's address unless that means the local machine. */
function ownHosts({ baseUrl, server }: Addressed): { host: string; path: Finding["path"] }[] {
  const { hostname } = new URL(baseUrl);
  return [
    ...server.hosts.map((host, index) => ({ host, path: ["server", "hosts", index] })),
    ...(isLoopback(hostname) ? [] : [{ host: hostname.replace(/\.$/, ""), path: ["baseUrl"] }]),
  ];
}

/**
 * Whether a host in a URL or a socket is this machine: `localhost`, or an address of the loopback or of an interface of
 * this machine. Other names are resolved elsewhere, and may resolve to another address next time.
 */
export function isThisMachine(host: string): boolean {
  if (host === "localhost") return true;
  const address = plain(host);
  if (address === undefined) return false;
  if (/^(loopback|unspecified)$/.test(address.range())) return true;
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some((one) => plain(one.address)?.toString() === address.toString());
}

function plain(host: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const address = host.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  return ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
    ? ipaddr.process(address)
    : undefined;
}

import { hostsOf } from "../../config/hosts.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import type { FoundServer } from "./find-server.ts";
import { tenantFetch } from "./trust.ts";

const TIMEOUT_MS = 5000;

/**
 * The address of a tenant's server for programs that send the `Host` of the URL which they are given, as all do. Behind a port of
 * several tenants that is a loopback name of the tenant's own, such as `acme.localhost`, and without one the address of traders.
 */
export async function addressByUrl(tenant: OperatorTenant, { host, ...server }: FoundServer): Promise<string> {
  const { config } = tenant;
  if (host === undefined || (await answersWithoutHost(tenant, server))) return server.url;
  const name = hostsOf(config).find((each) => isLoopback(each) && !each.startsWith("*"));
  if (name === undefined) return config.baseUrl;
  const { protocol, port } = new URL(server.url);
  return `${protocol}//${name}${port === "" ? "" : `:${port}`}`;
}

/** Under a host that is not the tenant's, its server does not even prove itself. */
async function answersWithoutHost(tenant: OperatorTenant, server: FoundServer): Promise<boolean> {
  try {
    const request = await tenantFetch(tenant, server);
    const { headers } = await request(`${server.url}/health`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return headers.get("error-code") !== "UNKNOWN_HOST";
  } catch {
    return false;
  }
}

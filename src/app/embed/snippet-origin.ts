import { isLoopback } from "../../domain/access/networks.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { serversHere } from "../tenant/servers-here.ts";

/**
 * The address from which a page loads the widget: `baseUrl`. One that names this machine is of no use where the server of
 * this directory runs at another port; then it is the server's address.
 */
export async function snippetOrigin(tenant: OperatorTenant): Promise<string> {
  const own = new URL(tenant.config.baseUrl);
  if (!isLoopback(own.hostname)) return own.origin;
  const { servers } = await serversHere(tenant);
  const running = servers.map(({ url }) => new URL(url));
  const isThere = running.some(({ protocol, port }) => protocol === own.protocol && port === own.port);
  return isThere ? own.origin : (running[0] ?? own).origin;
}

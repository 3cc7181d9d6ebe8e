import { isPlaceholder } from "../../domain/access/host-names.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { serversHere } from "../tenant/servers-here.ts";

/**
 * The address from which a page loads the widget: `baseUrl`. The server's own address is used instead if `baseUrl`
 * leads nowhere yet, or names this machine while the server of this directory uses another port.
 */
export async function snippetOrigin(tenant: OperatorTenant): Promise<string> {
  const own = new URL(tenant.config.baseUrl);
  if (!isLoopback(own.hostname) && !isPlaceholder(own.hostname)) return own.origin;
  const { servers } = await serversHere(tenant);
  const running = servers.map(({ url }) => new URL(url));
  const isThere = running.some(({ protocol, port }) => protocol === own.protocol && port === own.port);
  return isThere ? own.origin : (running[0] ?? own).origin;
}

import { Fault } from "../../domain/fault.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { serversHere } from "../tenant/servers-here.ts";

/**
 * The address of a tenant's console, as its newest server of this directory states it.
 * @throws Fault UNREACHABLE where no server runs; CONSOLE_OFF where the console is off
 */
export async function findConsole(tenant: OperatorTenant): Promise<string> {
  const { id, config } = tenant;
  const { servers, failing, silent } = await serversHere(tenant);
  const url = servers.map(({ consoleUrl }) => consoleUrl).find((each) => typeof each === "string");
  if (url) return url;
  if (servers.some(({ consoleUrl }) => consoleUrl === undefined))
    throw new Fault("CONSOLE_OFF", `The server of ${id} is older than the console: restart it with this version`);
  if (servers.length > 0 || !config.server.console)
    throw new Fault("CONSOLE_OFF", `The console of ${id} is off: its file states server.console: false`);
  if (failing[0]) throw new Fault("UNREACHABLE", `The server of ${id} cannot serve it: ${failing[0].problem}`);
  if (silent[0] !== undefined)
    throw new Fault("UNREACHABLE", `The server of ${id}, process ${silent[0]}, does not answer`);
  throw new Fault("UNREACHABLE", `No server of ${id} runs on this machine: pmctl serve ${id} starts one`, {
    next: null,
  });
}

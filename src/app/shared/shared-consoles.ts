import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "../../domain/fault.ts";
import { pathOf } from "../../server/console/listening.ts";
import type { PageHandler } from "../../server/observe/ops-listener.ts";
import type { SharedTenant } from "./shared-tenant.ts";

const CONSOLE = /^\/t\/([^/]+)\/console(?:\/|$)/;

/** Passes the operations listener's requests for consoles on to their tenants, which are opened first if necessary. */
export function servesConsoles(
  tenants: ReadonlyMap<string, SharedTenant>,
  refuse: (fault: Fault, req: IncomingMessage, res: ServerResponse) => void,
): PageHandler {
  return (req, res) => {
    const [, id = ""] = CONSOLE.exec(pathOf(req.url)) ?? [];
    const tenant = tenants.get(id);
    if (!tenant) return false;
    void tenant.handleConsole(req, res, (fault) => refuse(fault, req, res));
    return true;
  };
}

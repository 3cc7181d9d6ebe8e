import { httpApi } from "../../../src/client/http-api.ts";
import { localApi } from "../../../src/client/local-api.ts";
import type { Api } from "../../../src/contract/operations.ts";
import type { Seal } from "../../../src/domain/audit/audit-link.ts";
import { DEFAULT_POLICY } from "../../../src/domain/policy/policy.ts";
import { serveServices, userToken } from "../../server/support/harness.ts";
import { ADMIN_KEY, openTestTenant, type TenantOptions, type TestTenant } from "../../support/tenant.ts";

export const TENANT = "acme";
export { ADMIN_KEY, AUDIT_SECRET } from "../../support/tenant.ts";

interface ApiExtra {
  onSealed?: (seal: Seal) => void;
  policyTtlSec?: number | undefined;
}

/** A tenant reached one way. */
export interface TestDoor extends Pick<TestTenant, "services" | "database" | "sql" | "deposit" | "close"> {
  /** The operator in audit entries. */
  actor: string;
  api(userId?: string, reason?: string, extra?: ApiExtra): Api;
  /** The server's address, where there is one. */
  url?: string;
}

export type OpenDoor = (options?: DoorOptions) => Promise<TestDoor>;

type DoorOptions = Pick<TenantOptions, "correctionHours">;

/** Both ways to a tenant. A command whose every line `both-doors.test.ts` says over each is tested over HTTP alone. */
export const doors: [name: string, open: OpenDoor][] = [
  ["db", openDatabaseDoor],
  ["http", openHttpDoor],
];

/** Limits as a tenant file leaves them that states none. */
const open = (options: DoorOptions = {}) =>
  openTestTenant({ policy: { ...DEFAULT_POLICY, feeBps: 100 }, keys: ["ops"], ...options });

async function openDatabaseDoor(options?: DoorOptions): Promise<TestDoor> {
  const tenant = await open(options);
  const actor = "cli:tester";
  return {
    ...tenant,
    actor,
    api: (userId, reason, { onSealed, policyTtlSec } = {}) =>
      localApi(tenant.services.handlers, {
        actor,
        reason,
        onSealed,
        policyTtlMs: policyTtlSec && policyTtlSec * 1000,
        user: userId ? { id: userId } : undefined,
      }),
  };
}

export async function openHttpDoor(options?: DoorOptions): Promise<TestDoor> {
  const tenant = await open(options);
  const server = await serveServices(tenant.services);
  return {
    ...tenant,
    actor: "admin:ops",
    url: server.url,
    api: (userId, reason, extra) =>
      httpApi({
        url: server.url,
        fetch,
        apiKey: ADMIN_KEY,
        reason,
        ...extra,
        userToken: userId === undefined ? undefined : () => userToken({ sub: userId }),
      }),
    close: async () => {
      await server.close();
      await tenant.close();
    },
  };
}

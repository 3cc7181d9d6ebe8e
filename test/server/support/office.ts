import { httpApi } from "../../../src/client/http-api.ts";
import { localApi } from "../../../src/client/local-api.ts";
import type { Api } from "../../../src/contract/operations.ts";
import { hashApiKey } from "../../../src/domain/access/api-key.ts";
import type { Scope } from "../../../src/domain/access/scopes.ts";
import type { Json } from "../../../src/domain/audit/audit-link.ts";
import { openTestTenant, PUBLIC_KEY, type TestTenant } from "../../support/tenant.ts";
import { serveServices, userToken } from "./harness.ts";

/** What a caller says beside the input. */
interface Told {
  reason?: string;
  policyTtlSec?: number;
}

/** A tenant reached one way by several operators, who differ by their keys. */
export interface Office {
  tenant: TestTenant;
  as: (name: string, idempotencyKey?: string, told?: Told) => Api;
  user: (id: string) => Api;
  /** Reads as a page of the public does. */
  visitor: () => Api;
  close: () => Promise<void>;
}

const OPERATORS: { [name: string]: Scope[] } = {
  ...{ eve: ["*"], zoe: ["*"], reader: ["read"], payer: ["read", "funds"], settler: ["read", "settle"] },
};
const keyValue = (name: string) => `sk_${name}-0123456789-abcdefghijklmnopqrstuvwxyz`;

async function openOffice(rules: Json): Promise<TestTenant> {
  const tenant = await openTestTenant({ rules, policy: { maxCreditUsd: 1000 } });
  for (const [name, scopes] of Object.entries({ ...OPERATORS, ann_key: ["*"] as Scope[] }))
    await tenant.services.sequencer.submit({
      command: { type: "createKey", name, keyType: "admin", hash: hashApiKey(keyValue(name)), scopes, expiresAt: null },
      actor: "cli:setup",
    });
  return tenant;
}

export async function overDatabase(rules: Json): Promise<Office> {
  const tenant = await openOffice(rules);
  const { handlers } = tenant.services;
  return {
    tenant,
    as: (name, key, { reason, policyTtlSec = 0 } = {}) =>
      localApi(
        handlers,
        {
          ...{ actor: `admin:${name}`, scopes: OPERATORS[name] ?? ["*"], reason },
          policyTtlMs: policyTtlSec === 0 ? undefined : policyTtlSec * 1000,
        },
        key === undefined ? undefined : { key, adminKey: name },
      ),
    user: (id) => localApi(handlers, { actor: `user:${id}`, user: { id } }),
    visitor: () => localApi(handlers, { actor: "public:web" }),
    close: tenant.close,
  };
}

export async function overHttp(rules: Json): Promise<Office> {
  const tenant = await openOffice(rules);
  const server = await serveServices(tenant.services);
  const door = { url: server.url, fetch };
  return {
    tenant,
    as: (name, idempotencyKey, told) => httpApi({ ...door, apiKey: keyValue(name), idempotencyKey, ...told }),
    user: (id) => httpApi({ ...door, apiKey: PUBLIC_KEY, userToken: () => userToken({ sub: id }) }),
    visitor: () => httpApi({ ...door, apiKey: PUBLIC_KEY }),
    close: async () => {
      await server.close();
      await tenant.close();
    },
  };
}

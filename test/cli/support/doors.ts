import { SignJWT } from "jose";
import { pino } from "pino";
import { httpApi } from "../../../src/client/http-api.ts";
import { localApi } from "../../../src/client/local-api.ts";
import type { Api } from "../../../src/contract/operations.ts";
import { hashApiKey } from "../../../src/domain/api-key.ts";
import type { Seal } from "../../../src/domain/audit/audit-link.ts";
import type { PolicyPatch } from "../../../src/domain/policy/policy.ts";
import { startServer } from "../../../src/server/server.ts";
import { openTenant, type TenantServices } from "../../../src/services/tenant/tenant.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

export const TENANT = "acme";
export const ADMIN_KEY = "sk_admin-0123456789-abcdefghijklmnopqrstuvwxyz";
export const AUDIT_SECRET = "an audit secret of the tests, long enough";
const JWT_SECRET = "a jwt secret of the tests, which is long enough";

/** A tenant with money in it, reached one way. */
interface ApiExtra {
  onSealed?: (seal: Seal) => void;
  policyTtlSec?: number | undefined;
}

export interface TestDoor {
  /** The operator in audit entries. */
  actor: string;
  api(userId?: string, reason?: string, extra?: ApiExtra): Api;
  /** The server's address, where there is one. */
  url?: string;
  services: TenantServices;
  database: TestDatabase;
  /** Puts money into a wallet, as a provider's webhook does. */
  deposit(userId: string, usd: bigint): Promise<void>;
  close(): Promise<void>;
}

export type OpenDoor = () => Promise<TestDoor>;

/** Both ways to a tenant: every test of a command runs through each. */
export const doors: [name: string, open: OpenDoor][] = [
  ["db", openDatabaseDoor],
  ["http", openHttpDoor],
];

async function openDatabaseDoor(): Promise<TestDoor> {
  const { database, services } = await openTestTenant();
  const actor = "cli:tester";
  return {
    actor,
    api: (userId, reason, { onSealed, policyTtlSec } = {}) =>
      localApi(services.handlers, {
        actor,
        reason,
        onSealed,
        policyTtlMs: policyTtlSec && policyTtlSec * 1000,
        user: userId ? { id: userId } : undefined,
      }),
    services,
    database,
    deposit: depositInto(services),
    close: async () => {
      await services.close();
      await database.drop();
    },
  };
}

async function openHttpDoor(): Promise<TestDoor> {
  const { database, services } = await openTestTenant();
  const server = await startServer(
    {
      tenantId: TENANT,
      // Clients here keep their connections, and nothing is on its way when a test is over.
      lastRequestMs: 20,
      services,
      pool: services.pool,
      jwt: { algorithm: "HS256", secret: JWT_SECRET },
      corsOrigins: [],
      trustProxy: [],
      rateLimit: { perMinute: 1_000_000 },
      isDatabaseUp: services.isDatabaseUp,
      log: pino({ level: "silent" }),
    },
    { host: "127.0.0.1", port: 0, opsPort: 0 },
  );
  return {
    actor: "admin:ops",
    url: server.url,
    api: (userId, reason, extra) =>
      httpApi({
        url: server.url,
        fetch,
        apiKey: ADMIN_KEY,
        reason,
        ...extra,
        userToken: userId === undefined ? undefined : () => token(userId),
      }),
    services,
    database,
    deposit: depositInto(services),
    close: async () => {
      await server.close();
      await services.close();
      await database.drop();
    },
  };
}

async function openTestTenant(): Promise<{ database: TestDatabase; services: TenantServices }> {
  const database = await createTestDatabase();
  const services = await openTenant({
    tenantId: TENANT,
    connection: database.server,
    auditSecret: AUDIT_SECRET,
    readers: 2,
  });
  const policy: PolicyPatch = { feeBps: 100 };
  await services.sequencer.submit({
    command: {
      type: "applyConfig",
      policy,
      kycRequired: false,
      liquidityMicro: 1_000_000_000n,
      capitalMicro: 100_000_000_000n,
      keys: [{ name: "ops", type: "admin", hash: hashApiKey(ADMIN_KEY), expiresAt: null }],
      document: "{}",
      documentSha256: "0".repeat(64),
      gitCommit: undefined,
    },
    actor: "cli:setup",
  });
  return { database, services };
}

function depositInto({ sequencer }: TenantServices): TestDoor["deposit"] {
  return async (userId, usd) => {
    await sequencer.submit({
      command: {
        type: "recordDeposit",
        provider: "payments",
        traderId: userId,
        amountMicro: usd * 1_000_000n,
        reference: `deposit for ${userId}`,
      },
      actor: "provider:payments",
    });
  };
}

function token(userId: string): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(userId)
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(new TextEncoder().encode(JWT_SECRET));
}

import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { hashApiKey } from "../../src/domain/api-key.ts";
import type { PolicyPatch } from "../../src/domain/policy/policy.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { anyMarket } from "../support/market.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

export const ADMIN_KEY = "sk_admin-0123456789-abcdefghijklmnopqrstuvwxyz";
export const PUBLIC_KEY = "pk_public-0123456789-abcdefghijklmnopqrstuvwxy";

/** A tenant on a real database, called as the services are. */
export interface TestTenant {
  services: TenantServices;
  /** The services of another process on the same database. */
  secondProcess(): Promise<TenantServices>;
  sql: Sql;
  /** As the operator, or for a user. */
  connection: TestDatabase["connection"];
  server: TestDatabase["server"];
  api(userId?: string, reason?: string): Api;
  deposit(userId: string, usd: number): Promise<void>;
  market(change?: Partial<Parameters<Api["createMarket"]>[0]>): Promise<string>;
  /** The checks that do not hold; empty for a sound ledger. */
  faults(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openTestTenant(policy: PolicyPatch = {}, kycRequired = false): Promise<TestTenant> {
  const database = await createTestDatabase();
  const open = () =>
    openTenant({
      tenantId: "acme",
      connection: database.server,
      auditSecret: "an audit secret of the tests, long enough",
      readers: 4,
    });
  const services = await open();
  const sql = connect(database.connection, { name: "test", max: 2 });
  await services.sequencer.submit({
    command: {
      type: "applyConfig",
      policy: { feeBps: 100, maxTradeUsd: 1000, ...policy },
      kycRequired,
      liquidityMicro: 1_000_000_000n,
      capitalMicro: 100_000_000_000n,
      keys: [
        { name: "ops", type: "admin", hash: hashApiKey(ADMIN_KEY), expiresAt: null },
        { name: "web", type: "public", hash: hashApiKey(PUBLIC_KEY), expiresAt: null },
      ],
      document: "{}",
      documentSha256: "0".repeat(64),
      gitCommit: undefined,
    },
    actor: "cli:setup",
  });
  const api = (userId?: string, reason?: string) =>
    localApi(services.handlers, { actor: "admin:ops", reason, user: userId ? { id: userId } : undefined });
  let deposits = 0;
  return {
    services,
    connection: database.connection,
    server: database.server,
    secondProcess: open,
    sql,
    api,
    deposit: async (traderId, usd) => {
      deposits += 1;
      const amountMicro = BigInt(Math.round(usd * 1e6));
      const reference = `tx_${deposits}`;
      await services.sequencer.submit({
        command: { type: "recordDeposit", provider: "payments", traderId, amountMicro, reference },
        actor: "provider:payments",
      });
    },
    market: async (change = {}) => {
      const { id } = await api().createMarket(anyMarket(change));
      return id;
    },
    faults: async () =>
      (await reconcileLedger(sql)).filter(({ differenceMicro }) => differenceMicro !== 0n).map(({ name }) => name),
    close: async () => {
      await sql.end({ timeout: 5 });
      await services.close();
      await database.drop();
    },
  };
}

import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { hashApiKey } from "../../src/domain/access/api-key.ts";
import type { KeyType } from "../../src/domain/access/scopes.ts";
import { canonicalJson, type Json } from "../../src/domain/audit/audit-link.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import type { PolicyPatch } from "../../src/domain/policy/policy.ts";
import type { Sequencer } from "../../src/ledger/sequencer/sequencer.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import type { OracleSetup } from "../../src/services/oracle/feeds.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { anyMarket } from "./market.ts";
import { createTestDatabase, type TestDatabase } from "./postgres.ts";

export const ADMIN_KEY = "sk_admin-0123456789-abcdefghijklmnopqrstuvwxyz";
export const PUBLIC_KEY = "pk_public-0123456789-abcdefghijklmnopqrstuvwxy";
export const AUDIT_SECRET = "an audit secret of the tests, long enough";

const KEYS: Record<string, { type: KeyType; value: string }> = {
  ops: { type: "admin", value: ADMIN_KEY },
  web: { type: "public", value: PUBLIC_KEY },
};
/** A fee, and limits that no test comes near unless it states its own. */
const POLICY: PolicyPatch = { feeBps: 100, maxTradeUsd: 100_000, maxUserExposureUsd: 1_000_000 };

export interface TenantOptions {
  policy?: PolicyPatch;
  kycRequired?: boolean;
  /** How long a settlement can be corrected; not at all unless given. */
  correctionHours?: number;
  /** The sections `resolution` and `approvals` of the tenant file; none unless given. */
  rules?: Json;
  /** Names of `KEYS`; both unless given. */
  keys?: string[];
  /** How many processes serve it. */
  processes?: number;
  oracle?: OracleSetup;
  /** False leaves the tenant to be applied by the test. */
  applied?: boolean;
}

/** A tenant with capital on a real database of its own, called as the services are. */
export interface TestTenant {
  database: TestDatabase;
  /** As the database's owner, who sets scenes, looks and tampers. */
  sql: Sql;
  /** Of the first process. */
  services: TenantServices;
  processes: TenantServices[];
  /** The services of one more process on the same database, which the test closes. */
  anotherProcess(): Promise<TenantServices>;
  /** Through the first process, as the operator or for a user. */
  api(userId?: string, reason?: string): Api;
  /** Each is another deposit, unless a reference is given. */
  deposit(userId: string, usd: number, reference?: string): Promise<void>;
  /** A market that closes in 2096, unless told otherwise. */
  market(change?: Partial<Parameters<Api["createMarket"]>[0]>): Promise<string>;
  /** The checks that do not hold; empty for a sound ledger. */
  faults(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openTestTenant(options: TenantOptions = {}): Promise<TestTenant> {
  const { processes: count = 1, applied = true, oracle } = options;
  const database = await createTestDatabase();
  const open = () =>
    openTenant({ tenantId: "acme", connection: database.server, auditSecret: AUDIT_SECRET, oracle, connections: 10 });
  const services = await open();
  const processes = [services];
  while (processes.length < count) processes.push(await open());
  const sql = connect(database.connection, { name: "test", max: 2 });
  if (applied) await applyTenant(services.sequencer, options);
  const api: TestTenant["api"] = (userId, reason) =>
    localApi(services.handlers, { actor: "admin:ops", reason, user: userId ? { id: userId } : undefined });
  let deposits = 0;
  return {
    database,
    sql,
    services,
    processes,
    anotherProcess: open,
    api,
    deposit: async (traderId, usd, reference = `tx_${++deposits}`) => {
      const amountMicro = BigInt(Math.round(usd * 1e6));
      const command = { type: "recordDeposit", provider: "payments", traderId, amountMicro, reference } as const;
      await services.sequencer.submit({ command, actor: "provider:payments" });
    },
    market: async (change = {}) => (await api().createMarket(anyMarket(change))).id,
    faults: async () =>
      (await reconcileLedger(sql, [auditKey(AUDIT_SECRET)]))
        .filter(({ differenceMicro }) => differenceMicro !== 0n)
        .map(({ name }) => name),
    close: async () => {
      await sql.end({ timeout: 5 });
      await Promise.all(processes.map((each) => each.close()));
      await database.drop();
    },
  };
}

/** The first apply of a tenant of the tests. */
export async function applyTenant(
  sequencer: Sequencer,
  { policy = {}, kycRequired = false, correctionHours = 0, rules, keys = Object.keys(KEYS) }: TenantOptions = {},
): Promise<void> {
  await sequencer.submit({
    command: {
      type: "applyConfig",
      policy: { ...POLICY, ...policy },
      kycRequired,
      liquidityMicro: 1_000_000_000n,
      capitalMicro: 100_000_000_000n,
      keys: keys.map((name) => {
        const { type, value } = KEYS[name] ?? {};
        if (!type || !value) throw new Error(`The tests have no key ${name}`);
        return { name, type, hash: hashApiKey(value), expiresAt: null };
      }),
      document: canonicalJson(rules ?? (correctionHours > 0 ? { resolution: { correctionHours } } : {})),
      documentSha256: "0".repeat(64),
      gitCommit: undefined,
    },
    actor: "cli:setup",
  });
}

import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { hashApiKey } from "../../src/domain/api-key.ts";
import type { Sequencer } from "../../src/ledger/sequencer/sequencer.ts";
import type { OracleSetup } from "../../src/services/feeds.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { anyMarket } from "../support/market.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

export const AUDIT_SECRET = "an audit secret of the tests, long enough";

/** A tenant of its own database, with capital, and as many processes on it as asked for. */
export interface Scene {
  database: TestDatabase;
  /** One per process. */
  services: TenantServices[];
  /** Through the first process, as an operator or on behalf of a user. */
  api(userId?: string): Api;
  deposit(userId: string, usd: number, reference?: string): Promise<void>;
  /** A market that closes in 2096, unless told otherwise. */
  market(change?: Partial<Parameters<Api["createMarket"]>[0]>): Promise<string>;
  close(): Promise<void>;
}

/** @param options.applied false leaves the tenant to be applied by the test */
export async function openScene(
  options: { processes?: number; applied?: boolean; oracle?: OracleSetup } = {},
): Promise<Scene> {
  const { processes = 1, applied = true, oracle } = options;
  const database = await createTestDatabase();
  const services = await Promise.all(
    Array.from({ length: processes }, () =>
      openTenant({ tenantId: "acme", connection: database.server, auditSecret: AUDIT_SECRET, oracle, readers: 2 }),
    ),
  );
  const [first] = services;
  if (!first) throw new Error("a scene has at least one process");
  if (applied) await applyScene(first.sequencer);
  const api: Scene["api"] = (userId) =>
    localApi(first.handlers, { actor: "cli:tester", user: userId === undefined ? undefined : { id: userId } });
  return {
    database,
    services,
    api,
    deposit: async (traderId, usd, reference = `deposit for ${traderId}`) => {
      const amountMicro = BigInt(Math.round(usd * 1e6));
      const command = { type: "recordDeposit", provider: "payments", traderId, amountMicro, reference } as const;
      await first.sequencer.submit({ command, actor: "provider:payments" });
    },
    market: async (change = {}) => {
      const created = await api().createMarket(anyMarket(change));
      return created.id;
    },
    close: async () => {
      await Promise.all(services.map((each) => each.close()));
      await database.drop();
    },
  };
}

export async function applyScene(sequencer: Sequencer): Promise<void> {
  await sequencer.submit({
    command: {
      type: "applyConfig",
      policy: { feeBps: 100, maxTradeUsd: 100_000, maxUserExposureUsd: 1_000_000 },
      kycRequired: false,
      liquidityMicro: 1_000_000_000n,
      capitalMicro: 100_000_000_000n,
      keys: [
        {
          name: "ops",
          type: "admin",
          hash: hashApiKey("sk_scene-0123456789-abcdefghijklmnopqrstuvwxyz"),
          expiresAt: null,
        },
      ],
      document: "{}",
      documentSha256: "0".repeat(64),
      gitCommit: undefined,
    },
    actor: "cli:setup",
  });
}

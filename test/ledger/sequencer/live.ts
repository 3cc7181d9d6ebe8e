import { auditKey, sealCheck } from "../../../src/domain/audit/seal.ts";
import { DEFAULT_POLICY, type Policy } from "../../../src/domain/policy/policy.ts";
import type { Command } from "../../../src/engine/commands.ts";
import { type Journal, openJournal } from "../../../src/ledger/journal.ts";
import { Sequencer } from "../../../src/ledger/sequencer/sequencer.ts";
import { connect, type Sql } from "../../../src/postgres/connect.ts";
import { configOf, marketOf, saleOf, tradeOf } from "../../engine/world.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

export const KEY = auditKey("live-secret");
export const DOLLAR = 1_000_000n;

/** Two days from now by this machine's clock, which is the database's in the tests. */
const CLOSE_AT = Math.floor(performance.timeOrigin + performance.now()) + 2 * 86_400_000;

/** Sequencers on a database of their own, as processes of one tenant, and an owner who sees and may do everything. */
export interface Live {
  database: TestDatabase;
  owner: Sql;
  journals: Journal[];
  sequencers: Sequencer[];
  errors: unknown[];
  run: (command: Command, process?: number) => Promise<unknown>;
  close: () => Promise<void>;
}

export async function openLive({ processes = 1 }: { processes?: number } = {}): Promise<Live> {
  const database = await createTestDatabase();
  const owner = connect(database.connection, { name: "owner", max: 3 });
  const journals = Array.from({ length: processes }, () =>
    openJournal(database.server, { restricted: false, isSealed: sealCheck([KEY]) }),
  );
  const errors: unknown[] = [];
  const sequencers = journals.map(
    (journal) => new Sequencer({ journal, auditKey: KEY, onError: (error) => errors.push(error) }),
  );
  const at = (process: number) => {
    const sequencer = sequencers[process];
    if (!sequencer) throw new Error(`There is no process ${process}`);
    return sequencer;
  };
  return {
    database,
    owner,
    journals,
    sequencers,
    errors,
    run: (command, process = 0) => at(process).submit({ command, actor: "test" }),
    close: async () => {
      await Promise.all(sequencers.map((sequencer) => sequencer.close()));
      await Promise.all([...journals.map((journal) => journal.close()), owner.end({ timeout: 5 })]);
      await database.drop();
    },
  };
}

export function config(policy: Partial<Policy> = {}): Command {
  return configOf({
    policy: { ...DEFAULT_POLICY, maxUserExposureUsd: 1e6, ...policy },
    capitalMicro: 50_000n * DOLLAR,
    keys: [{ hash: "a".repeat(64), name: "ops", type: "admin", expiresAt: null }],
  });
}

export function market(id: string, change: Partial<Command<"createMarket">> = {}): Command {
  return marketOf({ id, question: `Will ${id} happen?`, category: "test", closeAt: CLOSE_AT, ...change });
}

export function deposit(traderId: string, amountMicro: bigint, reference: string): Command {
  return { type: "recordDeposit", provider: "payments", traderId, amountMicro, reference };
}

let trades = 0;

export function trade(
  marketId: string,
  traderId: string,
  change: Partial<Command<"placeTrade">> = {},
): Command<"placeTrade"> {
  trades += 1;
  return tradeOf({
    id: `trd_${trades}`,
    marketId,
    traderId,
    side: trades % 2 === 0 ? "yes" : "no",
    amountMicro: DOLLAR,
    ...change,
  });
}

export function sale(
  marketId: string,
  traderId: string,
  change: Partial<Command<"sellShares">> = {},
): Command<"sellShares"> {
  trades += 1;
  return saleOf({ id: `trd_${trades}`, marketId, traderId, sharesMicro: DOLLAR, ...change });
}

/** Every row of every table that a commit writes: equal dumps mean that nothing was written. */
export async function dump(sql: Sql): Promise<string> {
  const tables = [
    ...["head", "tenant", "account", "transfer", "market", "book", "trader", "position"],
    ...[
      "trade",
      "market_hour",
      "audit",
      "api_key",
      "receipt",
      "inbound_delivery",
      "stored_answer",
      "withdrawal",
      "assessment",
    ],
    ...["hedge", "trader_day", "funding_day"],
  ];
  const parts = await Promise.all(
    tables.map(async (table) => {
      const rows = await sql`select to_jsonb(t)::text as row from ${sql(table)} t order by 1`;
      return [table, ...rows.map(({ row }) => row)].join("\n");
    }),
  );
  return parts.join("\n");
}

/** Waits until the database says yes; asks again as fast as it answers. */
export async function until(sql: Sql, question: (sql: Sql) => PromiseLike<readonly unknown[]>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while ((await question(sql)).length === 0)
    if (performance.now() > deadline) throw new Error("It did not come to that within two minutes");
}

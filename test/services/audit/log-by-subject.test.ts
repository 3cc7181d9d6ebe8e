import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import { canonicalJson } from "../../../src/domain/audit/audit-link.ts";
import { AUDIT_TYPES } from "../../../src/domain/audit/sentence.ts";
import { HOUR_MS } from "../../../src/domain/time/units.ts";
import { GRANTS } from "../../../src/ledger/schema.ts";
import { connect, type Sql } from "../../../src/postgres/connect.ts";
import { migrate, readMigrations } from "../../../src/postgres/migrate.ts";
import { searchAudit } from "../../../src/queries/audit.ts";
import type { AuditFilter, AuditQuery } from "../../../src/queries/audit-candidates.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openTestTenant } from "../../support/tenant.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");
/** Quotes in an id are escaped in the payload. */
const USERS = ["ann", 'b"ob', "nobody"];
const MARKETS = ["m1", "m2", "none"];

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createTestDatabase();
  sql = connect(database.connection, { name: "owner", max: 1 });
  await sql.unsafe("drop schema public cascade; create schema public");
  const known = await readMigrations();
  // The rows are there before the migration that makes the indexes.
  await migrate(sql, { grants: GRANTS, migrations: known.slice(0, 9) });
  await fill();
  expect(await migrate(sql, { grants: GRANTS })).toContain("0010_audit_by_subject.sql");
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await database?.drop();
});

/** Entries of every type and of one that this version does not know, with and without either id, far apart in the log. */
async function fill(): Promise<void> {
  const types = [...AUDIT_TYPES, "market.dreamt"];
  for (let n = 0; n < types.length * 12; n++) {
    const type = n % 3 === 0 ? "trade.executed" : (types[n % types.length] ?? "");
    const isTrade = type === "trade.executed";
    const userId = isTrade || n % 4 < 3 ? USERS[(n >> 2) % 2] : undefined;
    const marketId = isTrade || n % 5 < 2 ? MARKETS[(n >> 3) % 2] : undefined;
    const said = type === "proposal.executed" ? { marketId, result: { userId } } : { marketId, userId };
    const actor = n % 7 === 0 || userId === undefined ? "admin:ops" : `user:${userId}`;
    // A quarter of the log has no entries, so that a search for trades has parts without any.
    const seq = 1000 + n * 2500 + (n > types.length * 6 ? 700_000 : 0);
    const at = START + n * HOUR_MS;
    await sql`
      insert into audit values (${seq}, ${type}, ${actor}, ${canonicalJson(JSON.parse(JSON.stringify({ ...said, n: String(n) })))},
                                ${new Date(at).toISOString()}, 'k', ${String(n)})`;
    if (!isTrade) continue;
    await sql`
      insert into trade values (${seq}, ${`trd_${n}`}, ${marketId ?? ""}, ${userId ?? ""}, 'yes', 2, 1, 1, 500000, ${at}, null)`;
    await sql`insert into market_hour values (${marketId ?? ""}, ${at}, 1, 500000, 1)`;
  }
}

/** What the log says, read whole. */
async function expected({ type, actor, userId, marketId }: AuditFilter): Promise<number[]> {
  const says = (field: string, id: string | undefined) =>
    id === undefined ? "" : `${JSON.stringify(field)}:${JSON.stringify(id)}`;
  const rows = await sql<{ seq: number }[]>`
    select seq::int from audit
     where type = coalesce(${type ?? null}, type) and actor = coalesce(${actor ?? null}, actor)
       and strpos(payload, ${says("userId", userId)}) > 0
       and strpos(payload, ${says("marketId", marketId)}) > 0
     order by seq`;
  return rows.map(({ seq }) => seq);
}

/** Every entry that pages of a query have. */
async function paged(query: AuditQuery): Promise<number[]> {
  const seen: bigint[] = [];
  const { oldestFirst, limit } = query;
  for (let place: bigint | undefined, from = query; ; from = { ...query, [oldestFirst ? "after" : "before"]: place }) {
    const { entries, reached } = await searchAudit(sql, from);
    seen.push(...entries.map(({ seq }) => seq));
    place = entries.length === limit ? entries.at(-1)?.seq : reached;
    if (place === undefined) return seen.map(Number);
  }
}

const some = <T>(values: readonly T[]): (T | undefined)[] => [undefined, ...values];

describe.each(some(MARKETS))("about market %s", (marketId) => {
  test.each(some(USERS))("and user %s: the entries that name them, in either order, page by page", async (userId) => {
    for (const actor of some(["admin:ops", "user:ann", "user:nobody"]))
      for (const type of some([
        "trade.executed",
        "proposal.executed",
        "kyc.updated",
        "market.dreamt",
        "market.moved",
      ])) {
        const filter = { type, actor, userId, marketId };
        const all = await expected(filter);
        expect(await paged({ ...filter, oldestFirst: true, limit: 60 })).toEqual(all);
        expect(await paged({ ...filter, limit: 7 })).toEqual(all.toReversed());
        const [after, before] = [400_000n, 1_500_000n];
        const inside = all.filter((seq) => seq > after && seq < before);
        expect(await paged({ ...filter, after, before, oldestFirst: true, limit: 9 })).toEqual(inside);
        expect(await paged({ ...filter, after, before, limit: 60 })).toEqual(inside.toReversed());
      }
  });
});

test("every type is found by the ids that it names", async () => {
  for (const type of AUDIT_TYPES)
    for (const filter of [
      { type, userId: "ann" },
      { type, marketId: "m2" },
    ])
      expect(await paged({ ...filter, limit: 20 }), type).toEqual((await expected(filter)).toReversed());
});

test("the indexes that were replaced are gone, and what used them reads the new ones", async () => {
  await sql`set enable_seqscan = off`;
  const about = (id: string, is: string) =>
    `explain select seq from audit where audit_json(payload) ->> '${id}' = 'x' and ${is}`;
  for (const [statement, index] of [
    [about("userId", "type = 'kyc.updated'"), "audit_by_user"],
    [about("userId", "type = 'session.revoked'"), "audit_by_user"],
    [about("marketId", "type in ('market.imported', 'market.moved')"), "audit_by_market"],
    [about("marketId", "type = 'oracle.resolved'"), "audit_by_market"],
  ] as const)
    expect(JSON.stringify(await sql.unsafe(statement)), statement).toContain(index);
  await sql`reset enable_seqscan`;
  const gone =
    await sql`select relname from pg_class where relname ~ '^audit_(of_user|of_session|of_named|resolution)'`;
  expect(gone).toEqual([]);
});

test("the log of a tenant is found as it was: each entry that names a user or a market in a field of that name", async () => {
  const money = { aboveUsd: 10, approvals: 2 };
  const scene = await openTestTenant({ rules: { approvals: { credit: money, withdraw: money } } });
  try {
    const eve = localApi(scene.services.handlers, { actor: "admin:eve" });
    const marketId = await scene.market();
    await scene.deposit("ann", 100);
    await scene.api("ann").placeTrade({ marketId, selection: { side: "yes" }, amount: 20 });
    await scene.api().creditWallet({ id: "ann", amount: 50, reason: "goodwill" });
    const { withdrawalId } = await scene.api("ann").requestWithdrawal({ amount: 20 });
    await scene.api().approveWithdrawal({ id: withdrawalId });
    for (const { proposalId: id } of (await eve.listProposals({})).items) await eve.approveProposal({ id });
    for (const [field, id] of [
      ["userId", "ann"],
      ["marketId", marketId],
    ] as const) {
      const rows = await scene.sql<{ seq: number }[]>`
        select seq::int from audit where strpos(payload, ${`"${field}":"${id}"`}) > 0 order by seq desc`;
      const { entries, cursor } = await scene.api().listAudit({ [field]: id });
      expect(entries.map(({ seq }) => seq)).toEqual(rows.map(({ seq }) => seq));
      expect(cursor).toBeNull();
      if (field === "userId") expect(entries.map(({ type }) => type)).toContain("proposal.executed");
    }
  } finally {
    await scene.close();
  }
});

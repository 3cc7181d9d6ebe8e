import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import type { AuditType } from "../../src/domain/audit/audit-payloads.ts";
import { statusFilter } from "../../src/domain/market/status-filter.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { listMarketsByStatus } from "../../src/queries/markets.ts";
import { listRisks } from "../../src/queries/reports.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../support/tenant.ts";

/** A busy tenant: what a request reads must not depend on these numbers. */
const [TRADES, TRADERS, MARKETS] = [30_000, 3_000, 300];
/** Rows of growing tables that a page of 50 may cost. */
const FEW = 600;

/** Tables that grow with trades, users or deliveries. */
const GROWING = [
  ...["trade", "transfer", "audit", "position", "trader_day", "market_hour", "hedge", "account", "trader"],
  ...["receipt", "payment", "inbound_delivery", "stored_answer", "assessment", "withdrawal"],
  ...["oracle_tick", "webhook_delivery"],
];

let scene: TestTenant;
let owner: Sql;
let services: TenantServices;
beforeAll(async () => {
  scene = await openTestTenant();
  owner = connect(scene.database.connection, { name: "owner", max: 1 });
  await fill(owner);
  // One connection, so that it can be told to hand its counters in.
  services = await openTenant({
    tenantId: "acme",
    connection: scene.database.server,
    auditSecret: AUDIT_SECRET,
    connections: 8,
  });
});
afterAll(async () => {
  await services?.close();
  await owner?.end({ timeout: 5 });
  await scene?.close();
});

/** Rows as thirty days of trading leave them, by SQL, since only their number matters. */
async function fill(sql: Sql): Promise<void> {
  const trader = "'u' || (n % 3000)";
  const market = "'m' || (n % 300)";
  const ts = "(extract(epoch from now()) * 1000)::bigint - (30000 - n) * 80000::bigint";
  await sql.unsafe(`
    insert into market
    select 'm' || n, 'Will the number ' || n || ' win?', 'c' || (n % 9), case n % 2 when 0 then 'cpmm' else 'lmsr' end,
           500000, 1000000000, 4000000000000 + n, 'manual', '{"description":"word' || n || '"}', ${ts}, 0, 0
      from generate_series(0, ${MARKETS - 1}) n;
    insert into book
    select 'm' || n, case when n % 3 = 0 then 'settled' else 'open' end, 1000000000, 1000000000, 5, case when n % 3 = 0 then 'yes' end,
           case when n % 3 = 0 then ${ts} end, 1, false, 0, 0, 0, 0
      from generate_series(0, ${MARKETS - 1}) n;
    insert into account select 'escrow:m' || n, 1000000000, 1 from generate_series(0, ${MARKETS - 1}) n;
    insert into trader select 'u' || n, 'verified', false, null, 1, 5, 1, 1, 1 from generate_series(0, ${TRADERS - 1}) n;
    insert into account select 'wallet:u' || n, 5000000000, 1 from generate_series(0, ${TRADERS - 1}) n;
    insert into account select 'pending:u' || n, 1, 1 from generate_series(0, ${TRADERS - 1}) n;
    insert into trade
    select 1000 + n, 'trd_' || n, ${market}, ${trader}, 'yes', 1000000, 10000, 1900000, 500000, ${ts}, null
      from generate_series(1, ${TRADES}) n where n % 10 <> 0;
    insert into audit
    select 1000 + n, case when n % 1000 = 0 then 'policy.updated' when n % 10 = 0 then 'wallet.credited' else 'trade.executed' end,
           case when n % 1000 = 0 then 'admin:ops' when n % 10 = 0 then 'provider:payments' else 'user:' || ${trader} end,
           case when n % 1000 = 0 then '{}' when n % 10 = 0 then '{"userId":"' || ${trader} || '"}'
                else '{"marketId":"' || ${market} || '","userId":"' || ${trader} || '"}' end,
           to_char(to_timestamp((${ts}) / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'k', repeat('0', 64)
      from generate_series(1, ${TRADES}) n;
    insert into trade
    select 1000, 'trd_old', 'old', 'old', 'yes', 1000000, 10000, 1900000, 500000, ${ts}, null from generate_series(0, 0) n;
    insert into audit
    select 1000, 'trade.executed', 'user:old', '{"marketId":"old","userId":"old"}', ts, 'k', repeat('0', 64) from audit where seq = 1001;
    insert into market_hour select 'old', (${ts}) / 3600000 * 3600000, 1000000, 500000, 10000 from generate_series(1, 1) n;
    insert into transfer
    select 1000 + n, 0, 'wallet:' || ${trader}, 'escrow:' || ${market}, 990000 from generate_series(1, ${TRADES}) n;
    insert into transfer
    select 1000 + n, 1, 'external:payments', 'wallet:' || ${trader}, 990000 from generate_series(1, ${TRADES}) n;
    insert into position
    select ${trader}, 'm' || ((n * 7) % 300), 'yes', 1900000, 1000000, 1, 0, 0, 0, 0 from generate_series(1, ${TRADES}) n
        on conflict do nothing;
    insert into trader_day
    select (${ts}) / 86400000 * 86400000, ${trader}, ${market}, 1000000, 1, 0 from generate_series(1, ${TRADES}) n
        on conflict do nothing;
    insert into market_hour
    select ${market}, (${ts}) / 3600000 * 3600000, 1000000, 500000, 10000 from generate_series(1, ${TRADES}) n
        on conflict do nothing;
    insert into hedge
    select 1001 + n * 10, 'm' || ((n * 10 + 1) % 300), 'BTCUSD', 'long', 100, 'ref' from generate_series(1, 2999) n;
    insert into withdrawal
    select 'w' || lpad(n::text, 6, '0'), 'u' || n, 1, case when n % 50 = 0 then 'pending' else 'approved' end, 1,
           case when n % 50 = 0 then null else 2 end, 1
      from generate_series(0, ${TRADERS - 1}) n;
    insert into account select 'receivable:u' || n, -5, 1 from generate_series(0, 49) n;
    insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
    select 'crm', 'evt_' || n, 1000 + n, 'order.filled', 'delivered', 1, 1, 1 from generate_series(1, ${TRADES}) n;
    insert into assessment select 'a' || n, 'u' || n, '{}', 5, 1 from generate_series(0, ${TRADERS - 1}) n;
    insert into oracle_tick
    select 'coinbase', 'BTC-USD', n, '100000', null, n, n, '', '' from generate_series(1, ${TRADES}) n;
    insert into inbound_delivery
    select 'payments', lpad(n::text, 64, '0'), 'deposit.completed', 'tx', 'u', 'wallet.credited', null, 1, ''
      from generate_series(1, ${TRADES}) n`);
  await sql.unsafe("vacuum analyze");
  // A session keeps its counters for up to a second: what it read so far would be counted as the cost of the first read.
  await sql`select pg_stat_force_next_flush()`;
  await sql`select 1`;
}

interface Cost {
  table: string;
  scans: number;
  rows: number;
}

/** What a read costs, by the server's own counters, in the growing tables alone. */
async function costOf(work: (api: Api) => Promise<unknown>): Promise<Cost[]> {
  const counters = async () => {
    for (const ask of [services.pool.read, services.pool.snapshot, services.publicReads.snapshot]) {
      await ask((sql) => sql`select pg_stat_force_next_flush()`);
      await ask((sql) => sql`select 1`);
    }
    const rows = await owner`
      select relname as table, seq_scan::int as scans, (seq_tup_read + idx_tup_fetch)::int as rows
        from pg_stat_user_tables
       where relname in ${owner(GROWING)}`;
    return new Map(rows.map((row) => [row.table as string, row as unknown as Cost]));
  };
  const before = await counters();
  await work(localApi(services.handlers, { actor: "admin:ops", user: { id: "u7" } }));
  const after = await counters();
  return [...after.values()]
    .map(({ table, scans, rows }) => ({
      table,
      scans: scans - (before.get(table)?.scans ?? 0),
      rows: rows - (before.get(table)?.rows ?? 0),
    }))
    .filter(({ scans, rows }) => scans > 0 || rows > 0);
}

const next = async (page: Promise<{ nextCursor: string | null }>) => (await page).nextCursor ?? undefined;
const trade = { marketId: "m1", selection: { side: "yes" }, amount: 5 } as const;
const READS: [name: string, read: (api: Api) => Promise<unknown>][] = [
  ["markets", (api) => api.listMarkets({})],
  ["markets, further pages", async (api) => api.listMarkets({ cursor: await next(api.listMarkets({ limit: 20 })) })],
  ["markets of a category and kind", (api) => api.listMarkets({ category: "c3", kind: "lmsr" })],
  ["markets by words", (api) => api.listMarkets({ q: "word17" })],
  ["markets that are not settled", (api) => api.listMarkets({ status: "unsettled" })],
  ["settled markets", (api) => api.listMarkets({ status: "settled" })],
  ["markets that wait for a person", (api) => api.listMarkets({ status: "waiting" })],
  ["ids by their beginnings", (api) => api.findIds({ kind: "trade", refs: "trd_3007,0123456789" })],
  ["users", (api) => api.listUsers({})],
  ["restricted users", (api) => api.listUsers({ state: "restricted" })],
  ["users who owe", (api) => api.listUsers({ minOwedUsd: 0.000001 })],
  ["users of a place", (api) => api.listUsers({ jurisdiction: "GB" })],
  ["a market", (api) => api.getMarket({ id: "m1" })],
  ["depth", (api) => api.getMarketDepth({ id: "m1" })],
  ["a quote", (api) => api.quoteTrade(trade)],
  ["positions", (api) => api.listPositions({})],
  ["orders", (api) => api.listOrders({})],
  ["orders of a market", (api) => api.listOrders({ marketId: "m7" })],
  ["an order", (api) => api.getOrder({ id: "trd_3007" })],
  ["webhooks of providers", (api) => api.listInboundWebhooks({})],
  ["a webhook of a provider", (api) => api.getInboundWebhook({ provider: "payments", sha256: "7".padStart(64, "0") })],
  [
    "webhooks of a provider, further pages",
    async (api) => {
      const cursor = await next(api.listInboundWebhooks({ provider: "payments", limit: 20 }));
      return api.listInboundWebhooks({ provider: "payments", cursor, limit: 50 });
    },
  ],
  ["the wallet", (api) => api.getWallet({})],
  ["the statement", (api) => api.listStatement({})],
  ["suitability", (api) => api.getSuitability({})],
  ["what a user may do", (api) => api.getEligibility({ marketId: "m1" })],
  ["a user", (api) => api.getUser({ id: "u9" })],
  ["a user's result", (api) => api.getTradersReport({ userId: "u9" })],
  ["a user's portfolio", (api) => api.getUserPortfolio({ id: "u9" })],
  ["a user's statement", (api) => api.listUserStatement({ id: "u9" })],
  ["holders of a market", (api) => api.listMarketPositions({ id: "m7" })],
  ["withdrawals of a user", (api) => api.listWithdrawals({ userId: "u9" })],
  ["pending withdrawals of a user", (api) => api.listWithdrawals({ userId: "u9", status: "pending" })],
  ["deliveries", (api) => api.listWebhookDeliveries({})],
  ["deliveries about a user", (api) => api.listWebhookDeliveries({ userId: "u9" })],
  ["withdrawals", (api) => api.listWithdrawals({})],
  ["pending withdrawals", (api) => api.listWithdrawals({ status: "pending" })],
  ["the policy", (api) => api.getPolicy({})],
  ["the live configuration", (api) => api.getConfig({})],
  ["the applies", (api) => api.listApplies({})],
  [
    "a rollback's preview, refused after its reads: the scene has no whole document",
    async (api) => {
      const { items } = await api.listApplies({ limit: 1 });
      await expect(api.previewRollback({ seq: items[0]?.seq ?? 0 })).rejects.toMatchObject({ code: "REFUSED" });
    },
  ],
  ["an apply", async (api) => api.getApply({ seq: (await api.listApplies({ limit: 1 })).items[0]?.seq ?? 0 })],
  ["samples of a feed", (api) => api.listFeedSamples({ feed: "pm:btc" })],
  ["prices of feeds", (api) => api.listLatestPrices({ feeds: [{ key: "a:b", sources: [{ use: "c", id: "d" }] }] })],
  ["the audit log", (api) => api.listAudit({})],
  ["the audit log by type", (api) => api.listAudit({ type: "policy.updated" })],
  ["the audit log by a type that there is not", (api) => api.listAudit({ type: "market.settled" })],
  ["the audit log of trades", (api) => api.listAudit({ type: "trade.executed" })],
  ["the audit log of an operator", (api) => api.listAudit({ actor: "admin:ops" })],
  ["the audit log of an unknown actor", (api) => api.listAudit({ actor: "admin:nobody" })],
  ["the audit log of a user", (api) => api.listAudit({ actor: "user:u7" })],
  ["the identity checks of a user", (api) => api.listAudit({ type: "kyc.updated", userId: "u7" })],
  ["the audit log about a user", (api) => api.listAudit({ userId: "u7" })],
  ["the audit log about a user who did little long ago", (api) => api.listAudit({ userId: "old" })],
  ["the audit log about a user, oldest first", (api) => api.listAudit({ userId: "u10", after: 0 })],
  ["the payments of a user", (api) => api.listAudit({ userId: "u10", type: "wallet.credited" })],
  ["the audit log about a user by an operator", (api) => api.listAudit({ userId: "u7", actor: "admin:ops" })],
  ["the audit log about a user and a market", (api) => api.listAudit({ userId: "u7", marketId: "m7" })],
  ["the audit log about a market that was traded long ago", (api) => api.listAudit({ marketId: "old" })],
  ["the ends of a market", (api) => api.listAudit({ marketId: "m7", type: "market.settled" })],
  ["the audit log of a user by type", (api) => api.listAudit({ actor: "user:u7", type: "policy.updated" })],
];

describe(`with ${TRADES} trades of ${TRADERS} traders in ${MARKETS} markets, a read costs a few rows and no scan:`, () => {
  test.each(READS)("%s", async (_name, read) => {
    const costs = await costOf(read);
    expect(costs.filter(({ scans }) => scans > 0)).toEqual([]);
    expect(costs.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(FEW);
  });

  test("history costs the hours of its market, trending those of a day, exposure its tags, risk its markets", async () => {
    for (const [read, limit] of [
      [(api: Api) => api.getMarketHistory({ id: "m1" }), 250],
      [(api: Api) => api.listTrendingMarkets({}), 5_000],
      // The trades since the 50th one of the market.
      [(api: Api) => api.listAudit({ marketId: "m7" }), 20_000],
      [(api: Api) => api.getHedgeExposure({}), 12_000],
      [(api: Api) => api.listRisk({}), 500],
      [(api: Api) => api.getRiskReport({}), 2000],
    ] as const) {
      const costs = await costOf(read);
      expect(costs.filter(({ scans, table }) => scans > 0 && table !== "hedge")).toEqual([]);
      expect(costs.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(limit);
    }
  });

  test("what a settlement would pay costs the market's positions, and neither their trades nor their wallets", async () => {
    const costs = await costOf((api) => api.previewSettlement({ id: "m7", outcome: "yes" }));
    expect(costs.map(({ table, scans, rows }) => [table, scans, rows])).toEqual(
      expect.arrayContaining([
        ["position", 0, 10],
        ["account", 0, 1],
      ]),
    );
    expect(costs).toHaveLength(2);
  });

  test("the identity checks of a user are found however long ago they were", async () => {
    const [head] = await owner`select seq from head`;
    await owner`
      insert into audit values (7, 'kyc.updated', 'provider:kyc', '{"userId":"u7"}', '2026-01-01T00:00:00.000Z', 'k', repeat('0', 64))`;
    await owner`update head set seq = 200000`;
    const api = localApi(services.handlers, { actor: "cli:test" });
    const { entries, cursor } = await api.listAudit({ type: "kyc.updated", userId: "u7" });
    await owner`delete from audit where seq = 7`;
    await owner`update head set seq = ${head?.seq}`;
    expect(entries.map(({ seq }) => seq)).toEqual([7]);
    expect(cursor).toBeNull();
  });

  test("the risk of markets that wait is read of these alone, by indexes", async () => {
    const rows = await owner.begin(async (sql) => {
      // So few markets would be read whole: it must be possible not to.
      await sql`set local enable_seqscan = off`;
      expect(await listRisks(sql as unknown as Sql, statusFilter("waiting"))).toEqual([]);
      return sql`select relname, (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname in ('market', 'book')`;
    });
    expect(rows.map(({ rows: read }) => read)).toEqual([0, 0]);
  });

  test("a page of a category reads that category's markets alone, and of an unknown one none", async () => {
    const cost = (category: string) =>
      owner.begin(async (sql) => {
        await sql`set local enable_seqscan = off`;
        const read = async () => {
          const [row] =
            await sql`select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'market'`;
          return row?.rows;
        };
        const before = await read();
        await listMarketsByStatus(sql as unknown as Sql, statusFilter("all"), { category, limit: 5 });
        return (await read()) - before;
      });
    // Each one is found, and then read for its columns.
    expect(await cost("c3")).toBeLessThanOrEqual(10);
    expect(await cost("c")).toBe(0);
  });

  test("operators who ask for a report at the same time share it", async () => {
    const asked = vi.spyOn(services.pool, "snapshot");
    onTestFinished(() => asked.mockRestore());
    const api = localApi(services.handlers, { actor: "admin:ops" });
    const answers = await Promise.all(Array.from({ length: 12 }, () => api.getDailyReport({ periodDays: 7 })));
    expect(asked.mock.calls.length).toBeLessThanOrEqual(2);
    expect(answers).toEqual(answers.map(() => answers[0]));
  });

  test("reports read their rollups, and neither trades nor transfers nor the log", async () => {
    const all = (api: Api) =>
      Promise.all([
        api.getOverviewReport({}),
        api.getHouseReport({}),
        api.getDailyReport({}),
        api.getTradersReport({}),
        api.getFundingReport({}),
      ]);
    const costs = await costOf(all);
    expect(costs.filter(({ table }) => ["trade", "transfer", "audit"].includes(table))).toEqual([]);
  });

  test.each<[AuditType | undefined, string | undefined]>([
    [undefined, undefined],
    ["wallet.credited", undefined],
    ["trade.executed", undefined],
    [undefined, "user:u7"],
    ["trade.executed", "user:u7"],
    ["wallet.credited", "user:u7"],
    [undefined, "provider:payments"],
    ["trade.executed", "admin:ops"],
    ["config.applied", "cli:setup"],
  ])("the log of type %s and actor %s has every entry once, newest first, page by page", async (type, actor) => {
    const api = localApi(services.handlers, { actor: "admin:ops" });
    const seen: number[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Page = await api.listAudit({
        limit: 37,
        ...(cursor === undefined ? {} : { cursor }),
        ...(type === undefined ? {} : { type }),
        ...(actor === undefined ? {} : { actor }),
      });
      seen.push(...page.entries.map(({ seq }) => seq));
      cursor = seen.length > 400 ? null : page.cursor;
    }
    const rows = await owner`
      select seq::int from audit
       where (${type ?? null}::text is null or type = ${type ?? null})
         and (${actor ?? null}::text is null or actor = ${actor ?? null})
       order by seq desc
       limit ${Math.max(seen.length, 1)}`;
    expect(seen).toEqual(rows.map(({ seq }) => seq));
  });
});

interface Page {
  entries: { seq: number }[];
  cursor: string | null;
}

import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import * as is from "./support/shapes.ts";
import { answer, call, deliver, ROWS, refusal, secrets, walked } from "./support/spec-client.ts";
import {
  created,
  levels,
  marketDetail,
  marketItem,
  policyAdditions,
  policyFields,
  position,
  received,
  side,
  trade,
} from "./support/spec-shapes.ts";

const market = (change: object = {}) => ({
  question: "Will BTC close above 100k?",
  category: "crypto",
  kind: "cpmm",
  p0: 0.5,
  closeAt: new Date(Date.now() + 3_600_000).toISOString(),
  resolutionRef: "the exchange's closing price",
  meta: { description: "Decided by the bellwether exchange." },
  ...change,
});
const open = async (change: object = {}): Promise<string> =>
  (await answer<{ id: string }>(created, "POST /v1/markets", "admin", { body: market(change) })).id;

describe("a client written from the specification alone", () => {
  let first: string;
  let second: string;

  test("reads health without a key", async () => {
    const shape = is.object({ ok: is.oneOf(true), service: is.string, db: is.oneOf(true), uptimeSec: is.count });
    await answer(shape, "GET /health", "nobody");
  });

  test("creates, lists, searches and reads markets", async () => {
    first = await open();
    second = await open({ kind: "lmsr", p0: 0.3, category: "sports", question: "Who wins?", meta: undefined });
    const list = (query: string) =>
      answer<{ id: string }[]>(is.arrayOf(marketItem), "GET /v1/markets", "public", { query });
    expect((await list("")).map(({ id }) => id)).toEqual(expect.arrayContaining([first, second]));
    expect((await list("?category=sports")).map(({ id }) => id)).toEqual([second]);
    expect((await list("?kind=lmsr")).map(({ id }) => id)).toEqual([second]);
    expect((await list("?q=bellwether")).map(({ id }) => id)).toEqual([first]);
    for (const typed of ["bellwether ".repeat(16), "bellwether".repeat(20), "-bell or (&| !:* ' \" \\", "-"])
      await list(`?q=${encodeURIComponent(typed)}`);
    const id = second;
    const detail = await answer<object>(marketDetail, "GET /v1/markets/:id", "public", { id });
    expect(detail).toMatchObject({
      id,
      kind: "lmsr",
      status: "open",
      yesPrice: 0.3,
      noPrice: 0.7,
      volume: 0,
      meta: {},
    });
    const points = is.arrayOf(is.object({ t: is.timestamp, yes: is.price, no: is.price }));
    expect(await answer<unknown[]>(points, "GET /v1/markets/:id/history", "public", { id })).not.toEqual([]);
    const depth = is.object({ yes: levels, no: levels });
    await answer(depth, "GET /v1/markets/:id/depth", "public", { id });
    for (const row of ["GET /v1/markets/:id", "GET /v1/markets/:id/history", "GET /v1/markets/:id/depth"])
      expect(await refusal(404, row, "public", { id: "mkt_nowhere" })).toBe("Market not found");
  });

  test("unlocks a user by a passed identity check, and funds the wallet, once", async () => {
    const body = { marketId: first, selection: { side: "yes" }, amount: 10 };
    await refusal(403, "POST /v1/trade", "trader", { body });
    const kyc = { userId: "usr_1", status: "passed", provider: "idv", verifiedAt: new Date().toISOString() };
    const deposit = { event: "deposit.completed", userId: "usr_1", amountUsd: 500, txRef: "tx_1" };
    const intent = {
      id: "pi_1",
      status: "succeeded",
      amount_received: 2500,
      currency: "usd",
      metadata: { userId: "usr_1" },
    };
    const stripe = { id: "evt_1", type: "payment_intent.succeeded", data: { object: intent } };
    const stripeSignature = (raw: string) => {
      const t = Math.floor(Date.now() / 1000);
      const v1 = createHmac("sha256", secrets.ACME_STRIPE_SECRET ?? "")
        .update(`${t}.${raw}`)
        .digest("hex");
      return { "stripe-signature": `t=${t},v1=${v1}` };
    };
    for (const [row, event, signature] of [
      ["POST /kyc/inbound/:tenantId", kyc],
      ["POST /payments/inbound/:tenantId", deposit],
      ["POST /payments/inbound/:tenantId", { ...deposit, event: "deposit.pending" }],
      ["POST /payments/stripe/:tenantId", stripe, stripeSignature],
    ] as const)
      for (const repeat of [1, 2]) {
        const delivered = await deliver(row, event, signature);
        expect([row, repeat, delivered.status]).toEqual([row, repeat, 200]);
        received(delivered.body, row);
        const forged = await deliver(row, event, () => ({ "x-signature": "0".repeat(64) }));
        expect([forged.status, forged.body]).toEqual([401, { error: "Invalid signature" }]);
      }
    const funding = await call("GET /v1/reports/funding", "admin");
    expect(funding.body).toMatchObject({ inflows: 525 });
  });

  test("trades, places a tagged order, and reads positions", async () => {
    const extra = ["action", "fee", "yesPriceAfter", "position", "hedgeRef"];
    const body = { marketId: first, selection: { side: "yes" }, amount: 25 };
    const bought = await answer(is.object(trade, extra), "POST /v1/trade", "trader", { body });
    expect(bought).toMatchObject({ marketId: first, side: "yes", amount: 25 });
    const hedgeRef = { symbol: "BTCUSD", direction: "long", notional: 100_000, externalRef: "pos-7" };
    const order = { marketId: second, selection: { outcome: 1 }, amount: 12.5, hedgeRef };
    const filled = { ...trade, orderId: is.string, status: is.oneOf("filled"), outcome: is.oneOf(0, 1) };
    const answered = await answer(is.object(filled, extra), "POST /v1/orders", "trader", { body: order });
    expect(answered).toMatchObject({ side: "yes", outcome: 1, amount: 12.5, hedgeRef });
    const held = await answer<object[]>(is.arrayOf(position), "GET /v1/positions", "trader");
    expect(held).toHaveLength(2);
    const row = is.object({
      symbol: is.string,
      openTrades: is.count,
      longHedges: is.count,
      shortHedges: is.count,
      totalNotionalMinor: is.integer,
      activeCostMinor: is.integer,
    });
    const book = is.object({ hedgeBook: is.arrayOf(row), updatedAt: is.timestamp });
    expect(await answer(book, "GET /v1/hedge/exposure", "admin")).toMatchObject({
      hedgeBook: [
        {
          symbol: "BTCUSD",
          openTrades: 1,
          longHedges: 1,
          shortHedges: 0,
          totalNotionalMinor: 100_000,
          activeCostMinor: 1250,
        },
      ],
    });
    const item = is.object({ id: is.string, question: is.string, yesPrice: is.price, volume24h: is.number });
    const trending = await answer<object[]>(is.arrayOf(item), "GET /v1/markets/trending", "public");
    expect(trending.slice(0, 2)).toMatchObject([
      { id: first, volume24h: 25 },
      { id: second, volume24h: 12.5 },
    ]);
  });

  test("submits and reads suitability", async () => {
    const row = "GET /v1/suitability";
    expect(await answer(is.object({ completed: is.oneOf(false) }), row, "trader")).toEqual({ completed: false });
    const body = { marketId: first, selection: { side: "yes" }, amount: 1 };
    await call("PUT /v1/policy", "admin", { body: { suitabilityRequired: true } });
    await refusal(403, "POST /v1/trade", "trader", { body });
    const result = { score: is.number, exposureCapMinor: is.number };
    const submission = is.object({ ...result, passed: is.boolean });
    const answers = { experience: 4, income: 3, knowledge: 3 };
    const submitted = await answer(submission, "POST /v1/suitability", "trader", { body: { answers } });
    expect(submitted).toEqual({ score: 10, exposureCapMinor: 250_000, passed: true });
    const done = is.object({ completed: is.oneOf(true), ...result, updatedAt: is.timestamp });
    expect(await answer(done, row, "trader")).toMatchObject({ score: 10, exposureCapMinor: 250_000 });
    await answer(is.object(trade, ["action", "fee", "yesPriceAfter", "position"]), "POST /v1/trade", "trader", {
      body,
    });
  });

  test("suspends, resumes and settles, and trades are rejected meanwhile and afterwards", async () => {
    const id = second;
    const body = { marketId: second, selection: { side: "no" }, amount: 1 };
    const changed = (to: string) => is.object({ id: is.string, status: is.oneOf(to) });
    await answer(changed("suspended"), "POST /v1/markets/:id/suspend", "admin", { id });
    await refusal(400, "POST /v1/trade", "trader", { body });
    await answer(changed("open"), "POST /v1/markets/:id/resume", "admin", { id, body: {} });
    const settled = is.object({
      id: is.string,
      status: is.oneOf("settled"),
      outcome: side,
      settledAt: is.timestamp,
      payoutsProcessed: is.count,
    });
    const settlement = { marketId: second, outcome: "yes" };
    const result = await answer(settled, "POST /v1/settle", "admin", { body: settlement });
    expect(result).toMatchObject({ id: second, outcome: "yes", payoutsProcessed: 1 });
    await refusal(400, "POST /v1/settle", "admin", { body: settlement });
    await refusal(400, "POST /v1/trade", "trader", { body });
    const { body: detail } = await call("GET /v1/markets/:id", "public", { id });
    expect(detail).toMatchObject({ status: "settled" });
  });

  test("reads the reports", async () => {
    const periodDays = is.integer;
    const overview = is.object({
      periodDays,
      totalVolume: is.number,
      houseRevenue: is.number,
      settledMarkets: is.count,
      activeTraders: is.count,
    });
    const summary = await answer(overview, "GET /v1/reports/overview", "admin");
    expect(summary).toMatchObject({ periodDays: 30, totalVolume: 38.5, settledMarkets: 1, activeTraders: 1 });
    const category = is.object({ category: is.string, revenue: is.number, volume: is.number }, ["netMargin"]);
    const house = { totalFees: is.number, spreadIncome: is.number, byCategory: is.arrayOf(category) };
    await answer(is.object(house, ["periodDays", "refunds"]), "GET /v1/reports/house", "admin");
    await answer(is.anyObject, "GET /v1/reports/traders", "admin");
    await answer(is.anyObject, "GET /v1/reports/funding", "admin");
    const risk = { marketId: is.string, question: is.string, maxLiability: is.number, yesPayout: is.number };
    const risks = is.arrayOf(is.object({ ...risk, noPayout: is.number }));
    const listed = await answer<{ marketId: string }[]>(risks, "GET /v1/risk", "admin");
    expect(listed.map(({ marketId }) => marketId)).toContain(first);
  });

  test("reads the audit log and reconciles", async () => {
    const entry = is.object(
      { seq: is.integer, type: is.string, actor: is.string, payload: is.anyObject, hash: is.string, ts: is.timestamp },
      ["keyId", "payloadText"],
    );
    const page = is.object({ entries: is.arrayOf(entry), cursor: is.nullable(is.string) }, ["questions"]);
    const seen: number[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query = `?limit=5${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
      const read: AuditPage = await answer<AuditPage>(page, "GET /v1/audit", "admin", { query });
      seen.push(...read.entries.map(({ seq }) => seq));
      cursor = read.cursor;
    }
    expect(seen).toEqual(seen.map((_, index) => seen.length - index));
    const chain = is.object({ verified: is.oneOf(true), head: is.string, count: is.count }, ["problem", "anchor"]);
    expect(await answer(chain, "GET /v1/audit/status", "admin")).toMatchObject({ count: seen.length });
    const reconciled = { ok: is.oneOf(true), discrepancy: is.oneOf(0), checkedAt: is.timestamp };
    const reconciliation = is.object(reconciled, ["verifiedAt"]);
    await answer(reconciliation, "POST /v1/reconcile", "admin");
  });

  test("reads the oracle's status", async () => {
    await open({ resolutionRef: "pm:btc > 100000" });
    const resolution = { ts: is.timestamp, marketId: is.string, ref: is.string, price: is.number, strike: is.number };
    const status = is.object({
      supportedFeeds: is.oneOf(41),
      eligibleMarkets: is.oneOf(1),
      lastSweepAt: is.nullable(is.timestamp),
      recentResolutions: is.arrayOf(is.object({ ...resolution, outcome: is.number, question: is.string })),
    });
    await answer(status, "GET /v1/oracle/status", "admin");
  });

  test("reads the policy and changes some of it", async () => {
    const before = await answer<object>(is.object(policyFields, policyAdditions), "GET /v1/policy", "admin");
    const shape = is.object({ ...policyFields, updatedAt: is.timestamp }, policyAdditions);
    const body = { feeBps: 50, jurisdictions: { blocked: ["KP"] } };
    const after = await answer(shape, "PUT /v1/policy", "admin", { body });
    const jurisdictions = { allowed: [], blocked: ["KP"] };
    expect(after).toEqual({ ...before, feeBps: 50, jurisdictions, updatedAt: expect.any(String) });
    await refusal(400, "PUT /v1/policy", "admin", { body: { feeBps: "50" } });
  });

  test("is refused as the specification says, row by row", async () => {
    const signed = ROWS.filter((row) => /inbound|stripe/.test(row));
    const publicRows = ROWS.filter((row) => /markets($|\/:id$|\/:id\/[hd]|\/trending)/.test(row) && /^GET/.test(row));
    const userRows = ROWS.filter((row) => /orders|trade$|positions|suitability/.test(row));
    for (const row of ROWS.filter((each) => each !== "GET /health" && !signed.includes(each))) {
      const request = row.startsWith("GET") ? {} : { body: {} };
      await refusal(401, row, "nobody", request);
      if (userRows.includes(row)) await refusal(401, row, "public", request);
      else if (!publicRows.includes(row)) await refusal(403, row, "public", request);
    }
    // Section 5.2: the admin key reaches every public endpoint too.
    for (const row of publicRows) await answer(() => {}, row, "admin", { id: first });
  });

  test("has walked every row of the endpoint table, which are the operations that are no extensions", () => {
    const left = ROWS.filter((row) => !walked.has(row));
    expect(left).toEqual([]);
    const own = (Object.values(operations) as Operation[]).filter(({ extension }) => !extension);
    expect(own.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([...ROWS].sort());
  });
});

interface AuditPage {
  entries: { seq: number }[];
  cursor: string | null;
}

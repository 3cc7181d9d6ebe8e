import { expect, test } from "vitest";
import { decimalText, parseDecimal } from "../../../src/domain/decimal.ts";
import { decodeTerms } from "../../../src/domain/market/terms.ts";
import type { Sql } from "../../../src/postgres/connect.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";

/**
 * How the owner of the database could be paid wrongly: change a row, let the service act on it, and put the row back. The
 * service cannot prevent it. The rows look as if nothing had happened, but the recomputation of the log names the fraud.
 * Each scheme is a row of the table.
 */
interface Scheme {
  name: string;
  change: (sql: Sql) => PromiseLike<unknown>;
  act: (tenant: TestTenant, marketId: string) => Promise<unknown>;
  putBack: (sql: Sql) => PromiseLike<unknown>;
  /** What the recomputation says of the entry: what it is about, and what is wrong. */
  found: readonly RegExp[];
  /** The market closes before the service acts. */
  isClosed?: boolean;
}

const MARKET = "mkt_scheme";
const buy =
  (amount: number, userId = "bob") =>
  (tenant: TestTenant) =>
    tenant.api(userId).placeTrade({ marketId: MARKET, selection: { side: "yes" }, amount });
const sell = (shares: number) => (tenant: TestTenant) =>
  tenant.api("bob").placeTrade({ marketId: MARKET, selection: { side: "yes", action: "sell" }, shares });
const policy = (field: string, value: string) => (sql: Sql) =>
  sql.unsafe(`update tenant set policy = jsonb_set(policy::jsonb, '{${field}}', '${value}')::text`);

const SCHEMES: Scheme[] = [
  {
    name: "a pool is changed for one purchase",
    change: (sql) => sql`update book set yes_micro = yes_micro + 400000000 where market_id = ${MARKET}`,
    act: buy(100),
    putBack: (sql) => sql`update book set yes_micro = yes_micro - 400000000 where market_id = ${MARKET}`,
    found: [/bob: shares/, /bob: yesPriceAfter/],
  },
  {
    name: "a balance is lent for one trade",
    change: (sql) => sql`update account set balance_micro = balance_micro + 500000000 where id = 'wallet:bob'`,
    act: async (tenant) => {
      const trade = tenant.api("bob").placeTrade;
      for (let times = 0; times < 2; times++) {
        const { shares } = await trade({ marketId: MARKET, selection: { side: "no" }, amount: 590 });
        if (times === 1) await trade({ marketId: MARKET, selection: { side: "no", action: "sell" }, shares });
      }
    },
    putBack: (sql) => sql`update account set balance_micro = balance_micro - 500000000 where id = 'wallet:bob'`,
    found: [/bob: INSUFFICIENT_FUNDS/],
  },
  {
    name: "shares are lent for one sale",
    change: (sql) => sql`update position set shares_micro = shares_micro + 9000000 where trader_id = 'bob'`,
    act: sell(2),
    putBack: (sql) => sql`update position set shares_micro = shares_micro - 9000000 where trader_id = 'bob'`,
    found: [/bob: cost/],
  },
  {
    name: "the cost of a position is hidden from the cap on exposure",
    change: async (sql) => {
      await sql`update position set cost_micro = cost_micro - 50000000 where trader_id = 'eve'`;
    },
    act: buy(60, "eve"),
    putBack: (sql) => sql`update position set cost_micro = cost_micro + 50000000 where trader_id = 'eve'`,
    found: [/eve: EXPOSURE_EXCEEDED/],
  },
  {
    name: "a limit is switched off for one trade",
    change: policy("maxTradeUsd", "100000"),
    act: buy(601),
    putBack: policy("maxTradeUsd", "600"),
    found: [/bob: MAX_TRADE_EXCEEDED/],
  },
  {
    name: "the fee is switched off for one trade",
    change: policy("feeBps", "0"),
    act: buy(10),
    putBack: policy("feeBps", "120"),
    found: [/bob: fee/, /bob: shares/],
  },
  {
    name: "the identity check is switched off for one trade",
    change: (sql) => sql`update tenant set kyc_required = false`,
    act: buy(10, "mallory"),
    putBack: (sql) => sql`update tenant set kyc_required = true`,
    found: [/mallory: KYC_REQUIRED/],
  },
  {
    name: "a closing time is moved for one trade",
    isClosed: true,
    change: (sql) => sql`update market set close_at = close_at + 3600000 where id = ${MARKET}`,
    act: buy(10),
    putBack: (sql) => sql`update market set close_at = close_at - 3600000 where id = ${MARKET}`,
    found: [/bob: MARKET_CLOSED/],
  },
  {
    name: "a strike is altered for one settlement",
    isClosed: true,
    change: (sql) => sql`update market set terms = replace(terms, '"100"', '"50"') where id = ${MARKET}`,
    act: settleByPrice("70"),
    putBack: (sql) => sql`update market set terms = replace(terms, '"50"', '"100"') where id = ${MARKET}`,
    found: [/strike/, /outcome/],
  },
];

/** What the sweep does with the terms that it reads and a price above their strike. */
function settleByPrice(price: string): Scheme["act"] {
  return async (tenant) => {
    const [row] = await tenant.sql`select terms from market where id = ${MARKET}`;
    const { feed: ref, strike } = decodeTerms(row?.terms);
    const seen = parseDecimal(price);
    const evidence = { ref, strike, price: seen && decimalText(seen) };
    const oracle = { resolutionUrl: null, evidence };
    const command = { type: "settleMarket", marketId: MARKET, outcome: "yes", oracle } as const;
    await tenant.services.sequencer.submit({ command, actor: "oracle" });
  };
}

const TERMS = { feed: "pm:btc", comparator: ">", strike: "100", upperStrike: null, rule: { kind: "last" } } as const;

let tenant: TestTenant;

async function openScheme(isClosed = false): Promise<void> {
  tenant = await openTestTenant({
    kycRequired: true,
    policy: { maxTradeUsd: 600, maxUserExposureUsd: 5000, feeBps: 120 },
  });
  const submit = tenant.services.sequencer.submit.bind(tenant.services.sequencer);
  const [clock] = await tenant.sql`select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  const closeAt = Number(clock?.now) + (isClosed ? 4000 : 86_400_000);
  const market = { question: "Up?", category: "prices", kind: "lmsr", p0Ppm: 500_000, meta: "{}" } as const;
  const terms = { ...TERMS, instant: closeAt, feedSha256: "f".repeat(64) };
  const more = { resolutionRef: "pm:btc > 100", liquidityMicro: null, closeAt, terms };
  await submit({ command: { type: "createMarket", id: MARKET, ...market, ...more }, actor: "admin:ops" });
  for (const traderId of ["bob", "eve"]) {
    const kyc = { status: "passed", provider: "idv", verifiedAt: 1, jurisdiction: undefined } as const;
    await submit({ command: { type: "recordKyc", traderId, ...kyc }, actor: "provider:idv" });
  }
  await tenant.deposit("mallory", 100);
  await tenant.deposit("bob", 100);
  await tenant.deposit("eve", 6000);
  await buy(50)(tenant);
  // Nine trades up to forty dollars below the cap.
  for (let trade = 0; trade < 9; trade++) await buy(550, "eve")(tenant);
  await buy(10, "eve")(tenant);
  await tenant.deposit("bob", 1000);
  if (isClosed) {
    const closed = () => tenant.sql`select 1 where clock_timestamp() > to_timestamp(${closeAt / 1000})`;
    while ((await closed()).length === 0);
  }
}

/** As another process does that writes: what this one remembers counts for nothing any more. */
const forget = () => tenant.sql`update head set epoch = epoch + 1`;

const recordCheck = async () => {
  const checks = await tenant.api().explainLedger({});
  return {
    off: checks.filter(({ ok }) => !ok).map(({ name }) => name),
    places: checks.find(({ name }) => name === "record")?.places ?? [],
  };
};

const accept = (seq: number) =>
  tenant.services.sequencer.submit({
    command: { type: "acceptFinding", seq, findings: ["what was found"] },
    actor: "cli:ann",
    reason: "bob was paid, ticket 4711",
  });

test("what was found in an entry is accepted once, for that entry alone", async () => {
  await openScheme();
  const [scheme] = SCHEMES;
  /** @returns the entry that the scheme left */
  const play = async () => {
    await forget();
    await scheme?.change(tenant.sql);
    await scheme?.act(tenant, MARKET);
    const [last] = await tenant.sql`select max(seq)::int as seq from audit`;
    await scheme?.putBack(tenant.sql);
    await forget();
    return Number(last?.seq);
  };
  const entriesFound = async () => {
    const { off, places } = await recordCheck();
    return { off, seqs: [...new Set(places.map(({ place }) => Number(place)))] };
  };
  try {
    const first = await play();
    // Another entry's acceptance, one of an entry that is yet to come among them, changes nothing.
    for (const other of [first - 1, first + 5]) await accept(other);
    expect(await entriesFound()).toEqual({ off: ["record"], seqs: [first] });
    await accept(first);
    expect(await entriesFound()).toEqual({ off: [], seqs: [] });
    expect(await tenant.api().reconcile({})).toMatchObject({ ok: true, discrepancy: 0 });
    const second = await play();
    expect(second).toBe(first + 5);
    expect(await entriesFound()).toEqual({ off: ["record"], seqs: [second] });
    // Written by the database's owner, without the audit key, an acceptance counts for nothing.
    const row = tenant.sql`select * from audit where type = 'finding.accepted' order by seq desc limit 1`;
    const [copied] = await row;
    const payload = String(copied?.payload).replace(`"seq":${first}`, `"seq":${second}`);
    expect(payload).not.toBe(copied?.payload);
    await tenant.sql`update audit set payload = ${payload} where seq = ${copied?.seq}`;
    expect((await recordCheck()).off).toContain("record");
    expect(await tenant.api().reconcile({})).toMatchObject({ ok: false });
  } finally {
    await tenant.close();
  }
});

test.each(SCHEMES)("$name, and everything is put back: the recomputation names the entry", async (scheme) => {
  await openScheme(scheme.isClosed);
  try {
    expect((await recordCheck()).off).toEqual([]);
    await forget();
    await scheme.change(tenant.sql);
    await scheme.act(tenant, MARKET);
    const [last] = await tenant.sql`select max(seq)::int as seq from audit`;
    await scheme.putBack(tenant.sql);
    await forget();
    const { off, places } = await recordCheck();
    expect(off).toEqual(["record"]);
    const said = places.map(({ held }) => held).join("; ");
    for (const each of scheme.found) expect(said).toMatch(each);
    expect(places.map(({ place }) => Number(place)).every((seq) => seq > 0 && seq <= last?.seq)).toBe(true);
    // The service goes on, and says so of itself too.
    expect(await tenant.api().reconcile({})).toMatchObject({ ok: false });
  } finally {
    await tenant.close();
  }
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditKey } from "../../src/domain/audit/seal.ts";
import type { Sql } from "../../src/postgres/connect.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { type LedgerFinding, LedgerWatch, type LedgerWatchOptions } from "../../src/services/audit/ledger-watch.ts";
import { openLedger } from "../ledger/ledger.ts";
import { DOLLAR, deposit, KEY, type Live, sale, trade, until } from "../ledger/sequencer/live.ts";
import { Random } from "../model/random.ts";

let live: Live;
let forged = 0;
beforeAll(async () => {
  live = await openLedger();
  await live.run(kyc("ann", 1));
  await live.run({ type: "submitSuitability", id: "a1", traderId: "ann", answers: { q: 1 } });
});
afterAll(() => live.close());

function kyc(traderId: string, verifiedAt: number) {
  return { type: "recordKyc", traderId, status: "passed", provider: "p", verifiedAt, jurisdiction: "CH" } as const;
}

/** Whole snapshots on the owner's connection, so that a change which is undone afterwards can be looked at. */
function watchOn(sql: Sql, options: Partial<LedgerWatchOptions> = {}): LedgerWatch {
  return new LedgerWatch({
    tenantId: "acme",
    checks: { snapshot: async (query) => await query(sql) },
    pool: { read: async (query) => await query(sql), note: async (statement) => await statement(sql) },
    keys: [KEY],
    wholeUpTo: 5n,
    onForged: () => {
      forged += 1;
    },
    sleep: async () => {},
    ...options,
  });
}

const watchOf = (options?: Partial<LedgerWatchOptions>) =>
  watchOn(live.owner, {
    checks: { snapshot: async (query) => (await live.owner.begin(async (sql) => await query(sql))) as never },
    ...options,
  });

const off = ({ checks }: LedgerFinding) =>
  Object.fromEntries(
    checks.filter((each) => each.differenceMicro !== 0n).map((each) => [each.name, each.differenceMicro]),
  );

/** What a question finds that rests on the stored checkpoint, and what a comparison of everything, after a change that is undone. */
async function after(tamper: (sql: Sql) => PromiseLike<unknown>) {
  const undone = new Error("undone");
  let found: { recent: LedgerFinding; full: LedgerFinding } | undefined;
  const attempt = live.owner.begin(async (transaction) => {
    const sql = transaction as unknown as Sql;
    await tamper(sql);
    const recent = await watchOn(sql).reconcile();
    found = { recent, full: await watchOn(sql).reconcile({ full: true }) };
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
  if (!found) throw new Error("Nothing was found");
  return found;
}

/** Each change is found wherever the checkpoint stands, since it is one of balances. */
const BALANCES: [string, (sql: Sql) => PromiseLike<unknown>][] = [
  ["a wallet", (sql) => sql`update account set balance_micro = balance_micro + 3 where id = 'wallet:ann'`],
  [
    "two wallets that cancel out",
    (sql) => sql`
    update account set balance_micro = balance_micro + case id when 'wallet:ann' then 5 else -5 end
     where id in ('wallet:ann', 'wallet:bob')`,
  ],
  ["an account that vanished", (sql) => sql`delete from account where id = 'wallet:bob'`],
  [
    "an account from nowhere",
    (sql) => sql`insert into account (id, balance_micro, version) values ('wallet:eve', 9, 1)`,
  ],
  ["an escrow", (sql) => sql`update account set balance_micro = balance_micro + 4 where id = 'escrow:m1'`],
  [
    "a position's shares",
    (sql) => sql`update position set shares_micro = shares_micro + 7 where market_id = 'old' and trader_id = 'ann'`,
  ],
  [
    "a position's cost",
    (sql) => sql`update position set cost_micro = cost_micro + 7 where market_id = 'm1' and trader_id = 'bob'`,
  ],
  ["a position that vanished", (sql) => sql`delete from position where market_id = 'm2' and trader_id = 'bob'`],
  ["a pool", (sql) => sql`update book set yes_micro = yes_micro - 8 where market_id = 'm2'`],
  ["the house's shares", (sql) => sql`update market set house_no_micro = house_no_micro + 1 where id = 'm1'`],
  ["a volume", (sql) => sql`update book set volume_micro = volume_micro + 3 where market_id = 'm1'`],
  [
    "a market that is settled in the table alone",
    (sql) => sql`
    update book set status = 'settled', outcome = 'yes', settled_at = 1 where market_id = 'm1'`,
  ],
  ["the running hour", (sql) => sql`update book set hour_fee_micro = hour_fee_micro + 3 where market_id = 'm1'`],
  [
    "the running day",
    (sql) => sql`
    update position set day_trades = day_trades + 1 where ctid = (select max(ctid) from position where market_id = 'm1')`,
  ],
  [
    "the running day's funding",
    (sql) =>
      sql`update funding_day set inflow_micro = inflow_micro + 3 where ctid = (select max(ctid) from funding_day)`,
  ],
  ["a withdrawal", (sql) => sql`update withdrawal set amount_micro = amount_micro + 5 where id = 'w1'`],
  ["a key", (sql) => sql`insert into api_key values (${"9".repeat(64)}, 'thief', 'admin', 0, null, 1)`],
  ["the policy", (sql) => sql`update tenant set liquidity_micro = liquidity_micro + 1`],
  ["the head", (sql) => sql`update head set seq = seq + 1`],
];

/** Each is found by a question while the checkpoint stands before the row, and by the next full comparison otherwise. */
const ROWS: [string, (sql: Sql) => PromiseLike<unknown>][] = [
  [
    "a transfer's amount",
    (sql) => sql`
    update transfer set amount_micro = amount_micro + 6 where seq = (select max(seq) from transfer where debit = 'external:payments')`,
  ],
  [
    "a transfer that vanished",
    (sql) => sql`
    delete from transfer where seq = (select max(seq) from transfer where debit = 'external:payments')`,
  ],
  [
    "a trade's amount",
    (sql) => sql`update trade set amount_micro = amount_micro + 2 where seq = (select max(seq) from trade)`,
  ],
  ["a trade's shares", (sql) => sql`update trade set shares_micro = shares_micro + 2 where id = 'late'`],
  ["a trade's owner", (sql) => sql`update trade set trader_id = 'eve' where id = 'late'`],
  ["a trade's time", (sql) => sql`update trade set ts = ts - 86400000 where id = 'late'`],
  ["a trade that vanished", (sql) => sql`delete from trade where id = 'late'`],
  [
    "a trade's entry",
    (sql) => sql`update audit set payload = replace(payload, '"fee"', '"fie"') where payload like '%"late"%'`,
  ],
  ["a hedge tag", (sql) => sql`update hedge set notional_minor = 501 where seq = (select max(seq) from hedge)`],
  ["a user's standing", (sql) => sql`update trader set kyc_at = 77 where id = 'bob'`],
  [
    "an entry about a user",
    (sql) => sql`update audit set payload = 'gone' where seq = (select max(seq) from audit where type = 'kyc.updated')`,
  ],
];

async function addRows(): Promise<void> {
  await live.run(deposit("bob", 3n * DOLLAR, `late ${performance.now()}`));
  await live.run({
    ...trade("m2", "bob", { id: "late" }),
    hedgeRef: { symbol: "BTC", direction: "long", notional: 5, externalRef: "y" },
  });
  await live.run(kyc("bob", 5));
}

const stored = async () => (await live.owner`select * from ledger_checkpoint`)[0];

describe("a question that rests on a checkpoint", () => {
  let sealedAt: number;
  beforeAll(async () => {
    sealedAt = (await watchOf().reconcile({ full: true })).verifiedAt;
    await addRows();
  });

  test("finds nothing in a sound ledger, and says when everything was last compared", async () => {
    const other = watchOf();
    const checks = await reconcileLedger(live.owner);
    expect(checks.every(({ differenceMicro }) => differenceMicro === 0n)).toBe(true);
    expect(await other.reconcile()).toEqual({ checks, verifiedAt: sealedAt });
    expect(other.verifiedAt).toBe(sealedAt);
  });

  test.each([...BALANCES, ...ROWS])(
    "finds a change of balances and of newer rows to the micro-dollar: %s",
    async (_, tamper) => {
      const { recent, full } = await after(tamper);
      expect(off(full)).not.toEqual({});
      expect(off(recent)).toEqual(off(full));
    },
  );

  test.each([...BALANCES, ...ROWS])(
    "finds balances, and leaves older rows to the next full comparison: %s",
    async (what, tamper) => {
      const before = await stored();
      if (before?.verified_at === String(sealedAt)) await watchOf().reconcile({ full: true });
      const { recent, full } = await after(tamper);
      expect(off(full)).not.toEqual({});
      expect(off(recent)).toEqual(BALANCES.some(([each]) => each === what) ? off(full) : {});
    },
  );
});

test("a checkpoint speaks for the ledger at any later point of a history, and moves up with it", async () => {
  const random = new Random(14);
  const watch = watchOf({ advanceAfter: 12n });
  const { verifiedAt } = await watch.reconcile({ full: true });
  await live.run(deposit("cyd", 50n * DOLLAR, "cyd begins"));
  const marks = new Set<string>();
  for (let step = 0; step < 40; step++) {
    const user = random.pick(["ann", "bob", "cyd"]);
    const market = random.pick(["m1", "m2"]);
    const side = random.pick(["yes", "no"] as const);
    const wish = random.pick([
      trade(market, user, { side }),
      trade(market, user, { side, amountMicro: 1_234_567n }),
      sale(market, user, { side, sharesMicro: 100_000n }),
      deposit(user, 2n * DOLLAR, `step ${step}`),
      { type: "requestWithdrawal", id: `w-${step}`, traderId: user, amountMicro: DOLLAR } as const,
      kyc(user, 100 + step),
    ]);
    // What a market, a wallet or a position refuses writes nothing.
    await live.run(step === 30 ? { type: "settleMarket", marketId: "m2", outcome: "no" } : wish).catch(() => {});
    // The same time as before: the answer rests on the checkpoint, and nothing was compared anew.
    expect(await watch.reconcile()).toMatchObject({ verifiedAt });
    if (step % 4 === 0) await watch.round();
    marks.add(String((await stored())?.seq));
  }
  expect(marks.size).toBeGreaterThan(2);
  expect(off(await watch.reconcile({ full: true }))).toEqual({});
});

describe("a checkpoint counts for nothing", () => {
  const changes: [string, (sql: Sql) => PromiseLike<unknown>][] = [
    ["another time", (sql) => sql`update ledger_checkpoint set verified_at = verified_at + 1`],
    ["another digest", (sql) => sql`update ledger_checkpoint set digest = repeat('0', 64)`],
    [
      "another entry",
      (sql) => sql`update ledger_checkpoint set (seq, hash) = (select seq, hash from audit where seq = 7)`,
    ],
    ["another verdict", (sql) => sql`update ledger_checkpoint set ok = not ok`],
    ["another mac", (sql) => sql`update ledger_checkpoint set mac = repeat('0', 64)`],
  ];
  test.each(changes)("that the audit key did not seal, which is noted once: %s", async (_, change) => {
    const { verifiedAt } = await watchOf().reconcile({ full: true });
    await change(live.owner);
    const before = forged;
    const watch = watchOf({
      pool: {
        read: async (query: (sql: Sql) => unknown) => (await query(live.owner)) as never,
        note: async () => undefined as never,
      },
    });
    for (let asked = 0; asked < 2; asked++) expect((await watch.reconcile()).verifiedAt).toBeGreaterThan(verifiedAt);
    expect(forged).toBe(before + 1);
    // It is replaced, whatever time it names.
    await watchOf().reconcile();
    expect(off(await watchOf().reconcile())).toEqual({});
    expect(forged).toBe(before + 2);
  });

  test("of a key that is not known, of another tenant, of a log that was set back or is another", async () => {
    const rests = async (watch: LedgerWatch, sealedAt: number) => (await watch.reconcile()).verifiedAt === sealedAt;
    const seal = async () => (await watchOf().reconcile({ full: true })).verifiedAt;
    const next = auditKey("the next audit secret of the tests");
    const quiet = {
      pool: {
        read: async (query: (sql: Sql) => unknown) => (await query(live.owner)) as never,
        note: async () => undefined as never,
      },
    };
    const before = forged;
    expect(await rests(watchOf({ keys: [next], ...quiet }), await seal())).toBe(false);
    // The seal is as bad as any other.
    expect(forged).toBe(before + 1);
    expect(await rests(watchOf({ keys: [next, KEY], ...quiet }), await seal())).toBe(true);
    expect(forged).toBe(before + 1);
    expect(await rests(watchOf({ tenantId: "other", ...quiet }), await seal())).toBe(false);
    for (const tamper of [
      (sql: Sql) => sql`update audit set hash = repeat('a', 64) where seq = (select max(seq) from audit)`,
      async (sql: Sql) => {
        await sql`delete from audit where seq = (select max(seq) from audit)`;
        await sql`update head set (seq, hash) = (select seq, hash from audit order by seq desc limit 1)`;
      },
    ]) {
      const sealedAt = await seal();
      const { recent } = await after(tamper);
      expect(recent.verifiedAt).toBeGreaterThan(sealedAt);
    }
  });
});

test("of two servers, each rests on what the other has compared, and neither on what its own comparison has refuted", async () => {
  const [one, other] = [watchOf(), watchOf()];
  const { verifiedAt } = await one.reconcile({ full: true });
  expect(await other.reconcile()).toMatchObject({ verifiedAt });
  const clean = await stored();
  await live.owner`update trade set fee_micro = fee_micro + 1 where id = 'm1-ann'`;
  // An old row, which no comparison has read since.
  expect(off(await other.reconcile())).toEqual({});
  const expected = { trades: 1n, hours: 1n };
  expect(off(await one.reconcile({ full: true }))).toEqual(expected);
  expect(one.problem).toBeDefined();
  expect(off(await other.reconcile())).toEqual(expected);
  // The clean checkpoint put back is outvoted by both.
  await live.owner`update ledger_checkpoint set ${live.owner(clean as never)}`;
  expect(off(await one.reconcile())).toEqual(expected);
  expect(off(await other.reconcile())).toEqual(expected);
  await live.owner`update trade set fee_micro = fee_micro - 1 where id = 'm1-ann'`;
  expect(off(await one.reconcile())).toEqual({});
  expect(one.problem).toBeUndefined();
});

test("the background compares everything when that is due, tells of a problem once, and finds its end", async () => {
  const told: string[][] = [];
  const mended = Promise.withResolvers<void>();
  let sleeps = 0;
  await live.owner`delete from ledger_checkpoint`;
  await live.owner`update trade set fee_micro = fee_micro + 1 where id = 'm1-ann'`;
  const watch: LedgerWatch = watchOf({
    sleep: async (_, signal) => {
      sleeps += 1;
      if (sleeps === 4) await live.owner`update trade set fee_micro = fee_micro - 1 where id = 'm1-ann'`;
      if (sleeps > 4 && !watch.problem) mended.resolve();
      if (sleeps > 4 && !watch.problem && !signal.aborted)
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  });
  const errors: unknown[] = [];
  watch.start({ onProblem: (found) => told.push(Object.keys(off(found))), onError: (error) => errors.push(error) });
  await mended.promise;
  await watch.stop();
  expect(told).toEqual([["hours", "trades"]]);
  expect(errors).toEqual([]);
  expect(await watchOf().reconcile()).toMatchObject({ verifiedAt: watch.verifiedAt });
});

test("a watch that is stopped ends the comparison under way", async () => {
  const lock = await live.owner.reserve();
  await lock`begin`;
  await lock`lock table transfer in access exclusive mode`;
  const errors: unknown[] = [];
  await live.owner`delete from ledger_checkpoint`;
  const watch = watchOf({ sleep: async () => {} });
  watch.start({ onProblem: () => {}, onError: (error) => errors.push(error) });
  await until(
    live.owner,
    (sql) => sql`
    select 1 from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%from transfer%'`,
  );
  await watch.stop();
  await lock`rollback`;
  lock.release();
  expect(errors).toEqual([]);
});

test("a ledger within the limit is compared whole by each question", async () => {
  const small = watchOf({ wholeUpTo: 1_000_000n });
  const first = await small.reconcile();
  await live.owner`update trade set fee_micro = fee_micro + 1 where id = 'm1-ann'`;
  expect(off(await small.reconcile())).toEqual({ trades: 1n, hours: 1n });
  await live.owner`update trade set fee_micro = fee_micro - 1 where id = 'm1-ann'`;
  const last = await small.reconcile();
  expect(off(last)).toEqual({});
  expect(last.verifiedAt).toBeGreaterThan(first.verifiedAt);
});

test("the checks that fail are found as a reconciliation finds them, and come with their places", async () => {
  const { verifiedAt } = await watchOf().reconcile({ full: true });
  const watch = watchOf();
  expect(await watch.failing()).toEqual([]);
  // It rested on the checkpoint: nothing was compared whole meanwhile.
  expect(watch.verifiedAt).toBe(verifiedAt);
  await live.owner`update account set balance_micro = balance_micro + 3 where id = 'wallet:ann'`;
  const failing = await watch.failing();
  expect(failing).toMatchObject([{ name: "accounts", differenceMicro: 3n, places: [{ place: "wallet:ann" }] }]);
  await live.owner`update account set balance_micro = balance_micro - 3 where id = 'wallet:ann'`;
});

test("the row takes no long texts, and one that grew long without its checks counts as none and is replaced", async () => {
  const { verifiedAt } = await watchOf().reconcile({ full: true });
  for (const [column, text] of Object.entries({ hash: "A", digest: "a", mac: "a", key_id: "a" })) {
    const long = live.owner`update ledger_checkpoint set ${live.owner(column)} = repeat(${text}, 65)`;
    await expect(long).rejects.toMatchObject({ code: "23514" });
  }
  const before = forged;
  const { recent } = await after(async (sql) => {
    for (const column of ["hash", "digest", "mac", "key_id"])
      await sql`alter table ledger_checkpoint drop constraint ${sql(`ledger_checkpoint_${column}`)}`;
    await sql`update ledger_checkpoint set mac = repeat('a', 1000000), verified_at = verified_at + 1000000`;
    const found = await watchOn(sql).reconcile();
    expect(await watchOn(sql).reconcile()).toEqual(found);
  });
  expect(recent.verifiedAt).toBeGreaterThan(verifiedAt);
  expect(forged).toBe(before);
});

test("a checkpoint that is locked, or cannot be read or written, stops no comparison and is waited for at no time", async () => {
  const { verifiedAt } = await watchOf().reconcile({ full: true });
  const [lock, reader] = [await live.owner.reserve(), await live.owner.reserve()];
  const codes: unknown[] = [];
  const watch = watchOn(reader, {
    onError: (error) => codes.push(error instanceof Error && "code" in error ? error.code : error),
    pool: { read: async (query) => await query(reader), note: async () => Promise.reject("not written") },
  });
  try {
    await lock`begin`;
    await lock`lock table ledger_checkpoint in access exclusive mode`;
    await reader`begin`;
    const found = await watch.reconcile();
    expect(off(found)).toEqual({});
    expect(found.verifiedAt).toBeGreaterThan(verifiedAt);
    await lock`rollback`;
    await reader`drop table ledger_checkpoint`;
    expect(off(await watch.reconcile())).toEqual({});
  } finally {
    await lock`rollback`;
    await reader`rollback`;
    lock.release();
    reader.release();
  }
  // Both times it is looked for by the question and by the comparison of everything, which then stores its own.
  expect(codes).toEqual(["55P03", "55P03", "not written", "42P01", "42P01", "not written"]);
});

describe("what a comparison has found is not forgotten", () => {
  const alter = (micro: number) => live.owner`update trade set fee_micro = fee_micro + ${micro} where id = 'm1-ann'`;
  const expected = { trades: 1n, hours: 1n };

  test("when it was an explanation", async () => {
    const watch = watchOf();
    await watch.reconcile({ full: true });
    await alter(1);
    expect(off(await watch.reconcile())).toEqual({});
    const explained = await watch.explain();
    expect(off({ checks: explained, verifiedAt: 0 })).toEqual(expected);
    expect(explained.flatMap(({ places }) => places).length).toBeGreaterThan(0);
    expect(watch.problem).toBeDefined();
    expect(off(await watch.reconcile())).toEqual(expected);
    expect(off(await watchOf().reconcile())).toEqual(expected);
    await alter(-1);
    await watch.explain();
    expect(watch.problem).toBeUndefined();
    expect(await watchOf().reconcile()).toMatchObject({ verifiedAt: watch.verifiedAt });
  });

  test("by a process that has not found it itself, once it is on record, when an older clean row is put back", async () => {
    await watchOf().reconcile({ full: true });
    const clean = await stored();
    await alter(1);
    expect(off(await watchOf().reconcile({ full: true }))).toEqual(expected);
    await live.run({ type: "recordReconciliation", ok: false, discrepancyMicro: 2n });
    await live.owner`update ledger_checkpoint set ${live.owner(clean as never)}`;
    expect(off(await watchOf().reconcile())).toEqual(expected);
    await alter(-1);
    const { verifiedAt } = await watchOf().reconcile({ full: true });
    expect(await watchOf().reconcile()).toMatchObject({ verifiedAt });
    await live.run({ type: "recordReconciliation", ok: true, discrepancyMicro: 0n });
    expect(await watchOf().reconcile()).toMatchObject({ verifiedAt });
  });
});

import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { Sql } from "../../../src/postgres/connect.ts";
import type { Reader } from "../../../src/postgres/pool.ts";
import { LedgerCheck, type LedgerCheckOptions, type LedgerFinding } from "../../../src/services/audit/ledger-check.ts";
import { RecordWatch } from "../../../src/services/audit/record-watch.ts";
import type { Sleep } from "../../../src/services/background/repeat.ts";
import { openLedger, TAMPERS } from "../../ledger/ledger.ts";
import { DOLLAR, deposit, KEY, type Live, sale, trade, until } from "../../ledger/sequencer/live.ts";
import { Random } from "../../model/random.ts";

let live: Live;
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
function optionsOf(options: Partial<LedgerCheckOptions> = {}): LedgerCheckOptions {
  return {
    checks: { snapshot: async (query) => (await live.owner.begin(async (sql) => await query(sql))) as never },
    pool: { read: async (query) => await query(live.owner) },
    keys: [KEY],
    comparedEachTime: 1000n,
    wholeEachTime: 0n,
    ...options,
  };
}
const watchOf = (options: Partial<LedgerCheckOptions> = {}) => new LedgerCheck(optionsOf(options));

/** Both checks, in the background. */
function running(sleep: Sleep, options: Partial<LedgerCheckOptions> = {}): RecordWatch {
  const reader: Reader = { read: async (query) => await query(live.owner) };
  return new RecordWatch({ chain: { reader, keys: [KEY] }, ledger: optionsOf(options), sleep });
}

const off = ({ checks }: LedgerFinding) =>
  Object.fromEntries(
    checks.filter((each) => each.differenceMicro !== 0n).map((each) => [each.name, each.differenceMicro]),
  );

/**
 * What a question finds that goes on from an earlier one, and what a comparison of everything, after a change that is undone.
 */
async function after(tamper: (sql: Sql) => PromiseLike<unknown>) {
  const undone = new Error("undone");
  let sql: Sql = live.owner;
  const watch = watchOf({ checks: { snapshot: async (query) => await query(sql) } });
  await watch.reconcile();
  await addRows();
  let found: { recent: LedgerFinding; full: LedgerFinding } | undefined;
  const attempt = live.owner.begin(async (transaction) => {
    sql = transaction as unknown as Sql;
    await tamper(sql);
    const recent = await watch.reconcile();
    found = { recent, full: await watch.reconcile({ full: true }) };
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
  if (!found) throw new Error("Nothing was found");
  return found;
}

/** Changes of what came since. */
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
  [
    "a trade's shares",
    (sql) => sql`update trade set shares_micro = shares_micro + 2 where seq = (select max(seq) from trade)`,
  ],
  ["a trade's owner", (sql) => sql`update trade set trader_id = 'eve' where seq = (select max(seq) from trade)`],
  ["a trade's time", (sql) => sql`update trade set ts = ts - 86400000 where seq = (select max(seq) from trade)`],
  ["a trade that vanished", (sql) => sql`delete from trade where seq = (select max(seq) from trade)`],
  [
    "a trade's entry",
    (sql) => sql`update audit set payload = replace(payload, '"fee"', '"fie"') where payload like '%"late %'`,
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
    ...trade("m2", "bob", { id: `late ${performance.now()}` }),
    hedgeRef: { symbol: "BTC", direction: "long", notional: 5, externalRef: "y" },
  });
  await live.run(kyc("bob", Math.ceil(performance.now())));
}

const BEFORE = TAMPERS.map(([what, statement]): (typeof ROWS)[0] => [what, (sql) => sql.unsafe(statement)]);

test.each([...BEFORE, ...ROWS])(
  "a question that goes on from an earlier one finds what a comparison of everything finds: %s",
  async (_, tamper) => {
    const { recent, full } = await after(tamper);
    expect(off(recent)).not.toEqual({});
    expect(off(recent)).toEqual(off(full));
  },
);

test("of a large ledger, the first comparison counts for everyone who asks meanwhile; a small one is compared for them", async () => {
  for (const [comparedEachTime, most] of [
    [0n, 1],
    [1000n, 2],
  ] as const) {
    const held = Promise.withResolvers<void>();
    const { snapshot } = optionsOf().checks;
    let snapshots = 0;
    const watch = watchOf({
      comparedEachTime,
      checks: {
        snapshot: async (query) => {
          snapshots += 1;
          await held.promise;
          return snapshot(query);
        },
      },
    });
    const round = watch.round();
    const questions = [watch.reconcile(), watch.explain()];
    held.resolve();
    await Promise.all([round, ...questions]);
    expect(snapshots).toBe(most);
    await watch.reconcile({ full: true });
    expect(snapshots).toBe(most + 1);
  }
});

test("it goes on at any point of a history, and begins anew where the log is another one", async () => {
  const random = new Random(11);
  const watch = watchOf();
  for (let step = 0; step < 25; step++) {
    const amountMicro = BigInt(1 + random.integer(0, 2_999_999));
    await live.run(
      random.chance(1 / 3)
        ? sale("m1", "ann", { side: "yes", sharesMicro: 1n + amountMicro / 100n })
        : trade("m1", "ann", { amountMicro }),
    );
    if (random.chance(1 / 2)) expect(off(await watch.reconcile())).toEqual({});
  }
  const [head] = await live.owner`select * from head`;
  const entries = await live.owner`delete from audit where seq > ${head?.seq - 1} returning *`;
  await live.owner`update head set (seq, hash) = (select seq, hash from audit order by seq desc limit 1)`;
  expect(Object.keys(off(await watch.reconcile()))).toContain("trades");
  await live.owner`insert into audit ${live.owner(entries as never)}`;
  await live.owner`update head set seq = ${head?.seq}, hash = ${head?.hash}`;
  expect(off(await watch.reconcile())).toEqual({});
});

test("of a large ledger a question is answered with the last comparison of the background", async () => {
  const watch = watchOf({ comparedEachTime: 5n });
  const { verifiedAt } = await watch.reconcile();
  await live.owner`update account set balance_micro = balance_micro + 1 where id = 'wallet:ann'`;
  expect(off(await watch.reconcile())).toEqual({});
  expect((await watch.reconcile()).verifiedAt).toBe(verifiedAt);
  expect(off(await watch.reconcile({ full: true }))).toEqual({ accounts: 1n });
  // What did not add up is compared again by each question, until it does.
  expect((await watch.failing()).map(({ name, places }) => [name, places.length])).toEqual([["accounts", 1]]);
  await live.owner`update account set balance_micro = balance_micro - 1 where id = 'wallet:ann'`;
  expect(off(await watch.reconcile())).toEqual({});
  expect(await watch.failing()).toEqual([]);
});

test("of a large ledger every check is told as the last comparison found it, without another one", async () => {
  let snapshots = 0;
  const { checks } = optionsOf();
  const watch = watchOf({
    comparedEachTime: 5n,
    checks: {
      snapshot: (query) => {
        snapshots += 1;
        return checks.snapshot(query);
      },
    },
  });
  const { checks: found } = await watch.reconcile();
  expect(await watch.explain()).toEqual(found);
  expect(snapshots).toBe(1);
});

test("the background check compares everything when due, reports a problem once, and notices when it is solved", async () => {
  const told: string[][] = [];
  const mended = Promise.withResolvers<void>();
  let isMending = false;
  await live.owner`update trade set fee_micro = fee_micro + 1 where id = 'm1-ann'`;
  const watch = running(async (_, signal) => {
    if (told.length > 0 && !isMending) {
      isMending = true;
      await live.owner`update trade set fee_micro = fee_micro - 1 where id = 'm1-ann'`;
    }
    if (isMending && !watch.problem) mended.resolve();
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
  });
  const errors: unknown[] = [];
  watch.start({
    onBroken: (problem) => errors.push(problem),
    onDifference: (found) => told.push(Object.keys(off(found))),
    onError: (error) => errors.push(error),
  });
  await mended.promise;
  await watch.stop();
  expect(told).toEqual([["hours", "trades"]]);
  expect(errors).toEqual([]);
});

test("a difference is compared again within five seconds of the last comparison, however long that took", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  const pauses: number[] = [];
  const compared = Promise.withResolvers<void>();
  await live.owner`update trade set fee_micro = fee_micro + 1 where id = 'm1-ann'`;
  const { checks } = optionsOf();
  const watch = running(
    async (ms, signal) => {
      if (watch.ledger.problem) pauses.push(ms);
      if (pauses.length > 20) compared.resolve();
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    {
      checks: {
        snapshot: (query) => {
          now += 1000;
          return checks.snapshot(query);
        },
      },
    },
  );
  watch.start({ onBroken: () => {}, onDifference: () => {}, onError: compared.reject });
  await compared.promise;
  await watch.stop();
  await live.owner`update trade set fee_micro = fee_micro - 1 where id = 'm1-ann'`;
  expect(Math.max(...pauses)).toBe(5000);
});

test("a check that is stopped ends the comparison under way", async () => {
  const lock = await live.owner.reserve();
  await lock`begin`;
  await lock`set local idle_in_transaction_session_timeout = 0`;
  await lock`lock table transfer in access exclusive mode`;
  const check = watchOf();
  const round = check.round().then(
    () => "ended",
    () => "cancelled",
  );
  await until(
    live.owner,
    (sql) => sql`
    select 1 from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%from transfer%'`,
  );
  await check.stop();
  expect(await round).toBe("cancelled");
  await lock`rollback`;
  lock.release();
});

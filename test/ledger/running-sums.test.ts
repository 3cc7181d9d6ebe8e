import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sealCheck } from "../../src/domain/audit/seal.ts";
import { addDays, addHours, continueDay, continueHour, NO_DAY, NO_HOUR } from "../../src/domain/market/running-sums.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time/units.ts";
import type { Command } from "../../src/engine/commands.ts";
import type { Head } from "../../src/ledger/commit.ts";
import { loadRows } from "../../src/ledger/load.ts";
import { needsOfSubmission, type Outcome, prepareBatch } from "../../src/ledger/sequencer/batch.ts";
import { Memory } from "../../src/ledger/sequencer/memory.ts";
import { loadTouched } from "../../src/ledger/touched.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { marketHours, traderDays } from "../../src/queries/rollups.ts";
import { SEED } from "../domain/random.ts";
import { config, DOLLAR, deposit, KEY, type Live, market, openLive, sale, trade } from "./sequencer/live.ts";
import { Random } from "./sequencer/random.ts";

const MIDNIGHT = 20_000 * DAY_MS;
const LATER = MIDNIGHT + 10_000 * DAY_MS;

describe("the sums of a running hour or day", () => {
  const hour = { hour: MIDNIGHT, hourVolumeMicro: 7n, hourFeeMicro: 2n, yesPricePpm: 600_000 };
  const day = { day: MIDNIGHT, dayVolumeMicro: 7n, dayTrades: 2, dayRealizedMicro: -3n };

  test("begin with the first trade, and add up while the span is the same", () => {
    expect(continueHour(NO_HOUR, hour)).toEqual({ running: hour, over: null });
    expect(continueDay(NO_DAY, day)).toEqual({ running: day, over: null });
    const traded = { ...hour, hourVolumeMicro: 1n, hourFeeMicro: 1n, yesPricePpm: 610_000 };
    expect(continueHour(hour, traded)).toEqual({ running: addHours(hour, traded), over: null });
    expect(addHours(hour, traded)).toEqual({ ...traded, hourVolumeMicro: 8n, hourFeeMicro: 3n });
    expect(continueDay(day, day)).toEqual({ running: addDays(day, day), over: null });
    expect(addDays(day, day)).toEqual({ ...day, dayVolumeMicro: 14n, dayTrades: 4, dayRealizedMicro: -6n });
  });

  test("are over with the first trade of a later span", () => {
    const [nextHour, nextDay] = [
      { ...hour, hour: MIDNIGHT + HOUR_MS },
      { ...day, day: MIDNIGHT + DAY_MS },
    ];
    expect(continueHour(hour, nextHour)).toEqual({ running: nextHour, over: hour });
    expect(continueDay(day, nextDay)).toEqual({ running: nextDay, over: day });
  });
});

describe("hours and days with their running part", () => {
  let live: Live;
  let memories: { memory: Memory; head: Head }[];
  beforeEach(async () => {
    live = await openLive({ processes: 2 });
    const head = await readHead();
    memories = live.journals.map(() => ({ memory: new Memory(), head }));
  });
  afterEach(() => live.close());

  async function readHead(): Promise<Head> {
    const [row] = await live.owner`select seq, hash, epoch, ts from head`;
    return { seq: BigInt(row?.seq), hash: row?.hash, epoch: BigInt(row?.epoch), ts: Number(row?.ts) };
  }

  /** One batch of a process, at an instant of its clock. */
  async function commit(process: number, commands: readonly Command[], now: number): Promise<Outcome[]> {
    const [own, journal] = [memories[process], live.journals[process]];
    if (!own || !journal) throw new Error("There are two processes");
    const head = await readHead();
    if (own.head.hash !== head.hash) {
      const touched = await loadTouched(live.owner, own.head);
      if (touched) own.memory.follow(touched);
      else own.memory.forget();
    }
    const submissions = commands.map((command) => ({ command, actor: "test" }));
    const unknown = submissions.flatMap(needsOfSubmission).filter((need) => !own.memory.knows(need));
    own.memory.learn(await loadRows(live.owner, unknown, sealCheck([KEY])));
    const { batch, outcomes } = prepareBatch(own.memory, submissions, { head, now, key: KEY });
    if (!batch) return outcomes;
    expect(await journal.commit(batch)).toMatchObject({ swapped: true });
    own.memory.publish(batch.writes);
    own.head = batch.next;
    return outcomes;
  }

  /** What each hour and day must hold, from the trades alone. */
  async function expectExact(): Promise<void> {
    const checks = await reconcileLedger(live.owner, [KEY]);
    expect(checks.filter(({ differenceMicro, rows }) => differenceMicro !== 0n || rows > 0)).toEqual([]);
    const sql = live.owner;
    const dated = sql`extract(epoch from a.ts::timestamptz) * 1000`;
    expect(
      await sql`select t.id, t.ts, a.ts from trade t join audit a on a.seq = t.seq where t.ts <> ${dated}`,
    ).toEqual([]);
    expect(await sql`select market_id from market_hour h join book b using (market_id) where h.hour >= b.hour`).toEqual(
      [],
    );
    expect(
      await sql`select market_id, hour, volume_micro, yes_price_ppm, fee_micro from ${marketHours(sql)} h order by 1, 2`,
    ).toEqual(
      await sql`
        select market_id, ts - ts % ${HOUR_MS}::bigint as hour, sum(amount_micro)::bigint as volume_micro,
               (array_agg(yes_price_ppm order by seq desc))[1] as yes_price_ppm, sum(fee_micro)::bigint as fee_micro
          from trade
         group by 1, 2
         order by 1, 2`,
    );
    expect(
      await sql`
        select day, trader_id, market_id, sum(volume_micro) as volume, sum(trades) as trades, sum(realized_micro) as realized
          from ${traderDays(sql)} d
         group by 1, 2, 3
         order by 1, 2, 3`,
    ).toEqual(
      await sql`
        select ts - ts % ${DAY_MS}::bigint as day, trader_id, market_id, sum(amount_micro) as volume, count(*) as trades,
               sum(case when released_micro is null then 0 else amount_micro - fee_micro - released_micro end) as realized
          from trade
         group by 1, 2, 3
         order by 1, 2, 3`,
    );
  }

  const TRADERS = ["ann", "bob", "eve"];
  const MARKETS = ["m1", "m2"];

  test("are what the trades add up to: two processes, clocks that pass midnight and step back, sales and a settlement", async () => {
    const random = new Random(SEED);
    let now = MIDNIGHT - 3 * HOUR_MS;
    await commit(0, [config()], now);
    await commit(
      0,
      MARKETS.map((id) => market(id, { closeAt: LATER })),
      now,
    );
    await commit(
      0,
      TRADERS.map((id) => deposit(id, 1000n * DOLLAR, `tx_${id}`)),
      now,
    );
    const some = (): Command => {
      const [marketId, traderId] = [random.pick(MARKETS), random.pick(TRADERS)];
      const side = random.pick(["yes", "no"] as const);
      return random.chance(0.3)
        ? sale(marketId, traderId, { side, sharesMicro: DOLLAR / 3n })
        : trade(marketId, traderId, { side, amountMicro: DOLLAR + BigInt(random.int(0, 999)) });
    };
    for (let batch = 0; batch < 60; batch += 1) {
      now += random.pick([0, 20, 30, 50, 70, -130, -50, 1000]) * MINUTE_MS;
      await commit(random.int(0, 1), Array.from({ length: random.int(1, 8) }, some), now);
      if (batch === 40) await commit(1, [{ type: "settleMarket", marketId: "m2", outcome: "yes" }], now);
    }
    await expectExact();
    const [kept] = await live.owner`
      select (select count(*) from market_hour)::int as hours, (select count(*) from trader_day)::int as days,
             (select count(*) from position where day > 0)::int as running, (select count(*) from trade)::int as trades`;
    expect(kept?.hours).toBeGreaterThan(20);
    expect(kept?.days).toBeGreaterThan(20);
    expect(kept?.running).toBe(12);
    expect(kept?.trades).toBeGreaterThan(100);
  });

  test("have one time for a trade when a clock steps back over midnight: that of its entry, in row, answer and sums", async () => {
    await commit(0, [config()], MIDNIGHT - HOUR_MS);
    const setup = [market("m1", { closeAt: LATER }), deposit("ann", 100n * DOLLAR, "tx_a")];
    await commit(0, setup, MIDNIGHT - HOUR_MS);
    await commit(0, [trade("m1", "ann")], MIDNIGHT - 1000);
    await commit(0, [deposit("ann", DOLLAR, "tx_b")], MIDNIGHT + 5);
    const outcomes = await commit(1, [trade("m1", "ann"), trade("m1", "ann", { side: "no" })], MIDNIGHT - 500);
    expect(outcomes).toMatchObject([{ result: { ts: MIDNIGHT + 5 } }, { result: { ts: MIDNIGHT + 5 } }]);
    await expectExact();
    expect(await live.owner`select hour from market_hour`).toEqual([{ hour: String(MIDNIGHT - HOUR_MS) }]);
    expect(
      await live.owner`
        select b.hour, b.yes_price_ppm = t.yes_price_ppm as is_last
          from book b, trade t where t.seq = (select max(seq) from trade)`,
    ).toEqual([{ hour: String(MIDNIGHT), is_last: true }]);
  });
});

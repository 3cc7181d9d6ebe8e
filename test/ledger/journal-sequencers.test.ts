import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import type { Command } from "../../src/engine/commands.ts";
import { readerOf } from "../../src/postgres/pool.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { verifyChain } from "../../src/services/audit/audit-verifier.ts";
import { config, DOLLAR, deposit, KEY, type Live, market, openLive, sale, trade } from "./sequencer/live.ts";
import { Random } from "./sequencer/random.ts";

const TRADERS = Array.from({ length: 12 }, (_, index) => `u${index}`);
const MARKETS = ["m0", "m1", "m2"];

/** What the client of one command heard. */
interface Heard {
  command: Command;
  /** "done", or the code of the refusal. */
  code: string;
}

async function send(live: Live, command: Command, process: number): Promise<Heard> {
  return live.run(command, process).then(
    () => ({ command, code: "done" }),
    (error: unknown) => ({ command, code: error instanceof Fault ? error.code : String(error) }),
  );
}

async function open(): Promise<Live> {
  const live = await openLive({ processes: 2 });
  await live.run(config());
  for (const [index, id] of MARKETS.entries()) await live.run(market(id, { kind: index === 1 ? "lmsr" : "cpmm" }));
  await Promise.all(TRADERS.map((traderId) => live.run(deposit(traderId, 40n * DOLLAR, `open-${traderId}`))));
  return live;
}

function anyCommand(random: Random, index: number): Command {
  const traderId = random.pick(TRADERS);
  const dice = random.next();
  const side = random.pick(["yes", "no"] as const);
  if (dice < 0.6) return trade(random.pick(MARKETS), traderId, { side, amountMicro: BigInt(random.int(1, 6_000_000)) });
  if (dice < 0.75) return sale(random.pick(MARKETS), traderId, { side, sharesMicro: BigInt(random.int(1, 3_000_000)) });
  if (dice < 0.78)
    return { type: "requestWithdrawal", id: `wd-${index}-${random.next()}`, traderId, amountMicro: DOLLAR };
  if (dice < 0.95) return deposit(traderId, BigInt(random.int(1, 3)) * DOLLAR, `tx-${random.int(0, 40)}`);
  if (dice < 0.96)
    return {
      type: "clarifyMarket",
      id: `clr-${index}-${random.next()}`,
      marketId: random.pick(MARKETS),
      text: "Hail\ntoo",
    };
  if (dice < 0.97) return { type: "suspendMarket", marketId: random.pick(MARKETS) };
  if (dice < 0.99) return { type: "resumeMarket", marketId: random.pick(MARKETS) };
  return { type: "updatePolicy", patch: { feeBps: index % 300 } };
}

/** What must hold of the database, whatever was sent: and all of what was heard is true. */
async function expectTruth(live: Live, heard: Heard[]): Promise<void> {
  const checks = await reconcileLedger(live.owner, [KEY]);
  expect(checks.length).toBeGreaterThanOrEqual(6);
  expect(checks.filter(({ rows }) => rows > 0)).toEqual([]);
  expect(await verifyChain(readerOf(live.owner), [KEY])).toMatchObject({ verified: true });
  const rows = await live.owner`select id from trade`;
  const inJournal = new Set(rows.map(({ id }) => id));
  expect(inJournal.size).toBe(rows.length);
  for (const { command, code } of heard) {
    if ((command.type !== "placeTrade" && command.type !== "sellShares") || code === "OUTCOME_UNKNOWN") continue;
    expect(`${command.id} ${inJournal.has(command.id)}`, code).toBe(`${command.id} ${code === "done"}`);
  }
  const receipts = await live.owner`select reference, amount_micro from receipt`;
  const credited = await live.owner`
    select sum(amount_micro) as sum from transfer where debit = 'external:payments'`;
  expect(credited[0]?.sum).toBe(String(receipts.reduce((sum, row) => sum + BigInt(row.amount_micro), 0n)));
}

describe("two processes on one database", () => {
  let live: Live;
  beforeAll(async () => {
    live = await open();
  });
  afterAll(() => live.close());

  test("six hundred commands at once: every total is exact, every answer is true, both make progress", async () => {
    const random = new Random(1);
    const heard = await Promise.all(
      Array.from({ length: 600 }, (_, index) => send(live, anyCommand(random, index), index % 2)),
    );
    await expectTruth(live, heard);
    const theirs = ["done", "INSUFFICIENT_FUNDS", "INSUFFICIENT_SHARES", "MARKET_SUSPENDED", "AMOUNT_TOO_SMALL"];
    expect(heard.map(({ code }) => code).filter((code) => !theirs.includes(code))).toEqual([]);
    for (const process of [0, 1])
      expect(heard.filter(({ code }, index) => code === "done" && index % 2 === process).length).toBeGreaterThan(50);
    expect(live.errors).toEqual([]);
  });

  test("settling while both trade: one settlement, exact payouts, and not a trade after it", async () => {
    const random = new Random(2);
    await Promise.all(MARKETS.map((marketId) => send(live, { type: "resumeMarket", marketId }, 0)));
    const settle: Command = { type: "settleMarket", marketId: "m0", outcome: "yes" };
    const commands = Array.from(
      { length: 300 },
      (_, index): Command =>
        index % 60 === 30 ? settle : trade("m0", random.pick(TRADERS), { amountMicro: BigInt(random.int(1, 50_000)) }),
    );
    const heard = await Promise.all(commands.map((command, index) => send(live, command, index % 2)));
    await expectTruth(live, heard);
    const settled = heard.filter(({ command }) => command.type === "settleMarket");
    expect(settled.filter(({ code }) => code === "done")).toHaveLength(1);
    const [late] = await live.owner`
      select count(*)::int as trades from trade
       where market_id = 'm0' and seq > (select seq from audit where type = 'market.settled')`;
    expect(late?.trades).toBe(0);
    expect(await live.owner`select balance_micro from account where id = 'escrow:m0'`).toEqual([
      { balance_micro: "0" },
    ]);
  });
});

describe("connections that are torn down under load", () => {
  test("what was acknowledged is there once, what was refused is not, and every caller is answered", {
    timeout: 600_000,
  }, async () => {
    const live = await open();
    try {
      const random = new Random(3);
      const heard: Heard[] = [];
      let calm = false;
      const client = async (process: number): Promise<void> => {
        for (let index = 0; !calm; index++) heard.push(await send(live, anyCommand(random, index), process));
      };
      const clients = Array.from({ length: 24 }, (_, index) => client(index % 2));
      const done = () => heard.filter(({ code }) => code === "done").length;
      for (let kills = 0; kills < 40 || done() < 100; kills++) {
        // Now the writers, now the loaders, now the turns, now most of them: wherever their statements happen to be.
        const like = random.pick(["pmctl writer", "pmctl writer", "pmctl loader", "pmctl turn", "pmctl %er"]);
        await live.owner`
          select pg_terminate_backend(pid) from pg_stat_activity
           where application_name like ${like} and datname = current_database() and pid <> pg_backend_pid()
             and application_name <> 'pmctl owner'`;
        // Longer from time to time, or a slow machine would not get a commit through between two of them.
        await live.owner`select pg_sleep(${random.between(0, 0.06) * Math.max(1, kills / 40)})`;
      }
      calm = true;
      await Promise.all(clients);
      await expectTruth(live, heard);
      expect(heard.filter(({ code }) => code === "INTERNAL")).toEqual([]);
      for (const process of [0, 1])
        expect((await send(live, deposit("u0", DOLLAR, `after-${process}`), process)).code).toBe("done");
    } finally {
      await live.close();
    }
  });
});

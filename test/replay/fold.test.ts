import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import { decimalFromMicro, microFromDecimal } from "../../src/domain/money.ts";
import type { Command } from "../../src/engine/commands.ts";
import type { Table } from "../../src/engine/rows.ts";
import { pack, unpack } from "../../src/replay/packed.ts";
import { Recomputation } from "../../src/replay/recomputation.ts";
import { anySide, magnitude, runs } from "../domain/random.ts";
import { anyStep, anyTrader, isAsked, startedWorld } from "../engine/histories.ts";
import { saleOf, tradeOf, type World } from "../engine/world.ts";
import { sealed } from "./sealed-log.ts";

const anyPayment = fc.constantFrom("p1", "p2", "p3");
const amountMicro = magnitude(4, 9);

/** What trades meet besides: payments that are taken back, credits by hand, and users whose standing changes. */
const anyOther: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ traderId: anyTrader, amountMicro, reference: anyPayment, won: fc.boolean(), kind: fc.nat(2) }).map(
    ({ traderId, amountMicro, reference, won, kind }): Command => ({
      type: "recordPayment",
      provider: "stripe",
      reference,
      ownerId: undefined,
      fact:
        kind === 0
          ? { kind: "paid", traderId, amountMicro, received: true }
          : kind === 1
            ? { kind: "refund", refunds: [{ id: `r-${reference}`, amountMicro, failed: won }] }
            : { kind: "dispute", id: `d-${reference}`, amountMicro, won },
    }),
  ),
  fc.record({ type: fc.constant("creditWallet"), id: fc.uuid(), traderId: anyTrader, amountMicro }),
  fc.record({ type: fc.constant("restrictUser"), traderId: anyTrader, restricted: fc.boolean() }),
  fc.record({
    type: fc.constant("recordKyc"),
    traderId: anyTrader,
    status: fc.constantFrom("passed", "failed"),
    provider: fc.constant("sumsub"),
    verifiedAt: fc.integer({ min: 1, max: 1e12 }),
    jurisdiction: fc.constantFrom("GB", undefined),
  }),
  fc.record({
    type: fc.constant("submitSuitability"),
    id: fc.uuid(),
    traderId: anyTrader,
    answers: fc.record({ q1: fc.nat(4), q2: fc.nat(4) }),
  }),
  fc.record({ type: fc.constant("revokeUser"), traderId: anyTrader, before: fc.constant(undefined) }),
);

const anyEvent = fc.oneof(
  { weight: 3, arbitrary: anyStep },
  { weight: 1, arbitrary: anyOther.map((command) => ({ command, wait: 0 })) },
);

/** Runs the command if it is not refused. */
function run(world: World, command: Command): void {
  // The service asks again with the owner that it was told.
  const payment = command.type === "recordPayment" && world.get("payment", `stripe\n${command.reference}`);
  try {
    world.run(payment && payment.userId !== "" ? { ...command, ownerId: payment.userId } : command);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
  }
}

/** The rows of a table, by key, without the versions that the store counts. An empty portfolio equals a missing one. */
function rowsOf(rows: Pick<World, "all">, table: Table): Map<string, object> {
  const pairs = rows.all(table).map(([key, row]) => [key, { ...row, version: 0 }] as const);
  const isEmpty = (row: object) => "exposureMicro" in row && row.exposureMicro === 0n;
  return new Map(pairs.filter(([, row]) => !isEmpty(row)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const ALL: Table[] = [
  ...(["account", "market", "marketState", "marketEnd", "marketKey", "position", "portfolio", "trader"] as const),
  ...(["withdrawal", "tenant", "watch", "assessment", "apiKey", "revocation", "freeze"] as const),
  ...(["clarification", "clarifications"] as const),
];

const anyHistory = fc.array(anyEvent, { minLength: 10, maxLength: 60, size: "max" });

function runAll(world: World, steps: readonly { command: Command; wait: number }[], after: () => void = () => {}) {
  for (const { command, wait } of steps) {
    world.wait(wait);
    if (isAsked(world, command)) run(world, command);
    after();
  }
}

test("after every entry of any history the log alone gives the rows that the engine left, and nothing is found", () => {
  let entries = 0;
  fc.assert(
    fc.property(anyHistory, (steps) => {
      const world = startedWorld();
      const recomputation = new Recomputation();
      const { rows } = recomputation;
      const logged = { all: (table: Table) => [...rows.of(table)] } as Pick<World, "all">;
      runAll(world, steps, () => {
        const page = sealed(world.log).slice(Number(recomputation.end.seq));
        if (page.length === 0) return;
        recomputation.take(page);
        for (const table of ALL) expect(rowsOf(logged, table)).toEqual(rowsOf(world, table));
        expect(recomputation.findings).toEqual([]);
      });
      entries += world.log.length;
    }),
    runs(60),
  );
  expect(entries).toBeGreaterThan(1000);
});

test("a packed recomputation of any history goes on like one that was never packed", async () => {
  let parts = 0;
  const all = (recomputation: Recomputation) => [...recomputation.parts()];
  await fc.assert(
    fc.asyncProperty(anyHistory, fc.nat(), async (steps, cut) => {
      const world = startedWorld();
      runAll(world, steps);
      const log = sealed(world.log);
      const [one, other] = [new Recomputation(), new Recomputation()];
      const place = cut % (log.length + 1);
      one.take(log.slice(0, place));
      other.take(log.slice(0, place));
      const unpacked = await unpack(await pack(other));
      expect(all(unpacked)).toStrictEqual(all(one));
      for (const recomputation of [one, unpacked]) recomputation.take(log.slice(place));
      expect(all(unpacked)).toStrictEqual(all(one));
      expect(unpacked.tradeDigests()).toEqual(one.tradeDigests());
      for (const [id] of one.rows.of("market"))
        expect(unpacked.rows.get("holders", id)).toEqual(one.rows.get("holders", id));
      parts += all(one).length;
    }),
    runs(40),
  );
  expect(parts).toBeGreaterThan(1000);
});

/** One that most often finds a market and the money. */
const anyTrade = fc
  .record({
    marketId: fc.constantFrom("m1", "m2"),
    traderId: fc.constantFrom("ann", "bob"),
    side: anySide,
    micro: fc.integer({ min: 1_000_000, max: 90_000_000 }).map(BigInt),
    isSale: fc.boolean(),
  })
  .map(({ micro, isSale, ...trade }) => ({
    command: isSale ? saleOf({ ...trade, sharesMicro: micro / 3n }) : tradeOf({ ...trade, amountMicro: micro }),
    wait: 1,
  }));

/** What a fill comes to; the rest of its entry is what was asked for, and other fills may have been. */
const OUTCOMES = { buy: ["shares", "fee", "yesPriceAfter"], sell: ["amount", "fee", "yesPriceAfter", "cost"] };

test("any single altered fill of any history is found: shares or proceeds, fee, price, cost", () => {
  let altered = 0;
  fc.assert(
    fc.property(
      fc.array(anyTrade, { minLength: 20 }),
      fc.nat(),
      fc.nat(4),
      fc.boolean(),
      (steps, which, what, isMore) => {
        const world = startedWorld();
        runAll(world, steps);
        const entries = sealed(world.log);
        const trades = entries.flatMap(({ lines }, index) => (lines.includes("\ntrade.executed\n") ? [index] : []));
        const place = trades[which % Math.max(trades.length, 1)];
        const entry = place === undefined ? undefined : entries[place];
        const outcomes = OUTCOMES[entry?.lines.includes('"action":"sell"') ? "sell" : "buy"];
        const field = outcomes[what % outcomes.length];
        const value = entry && new RegExp(`"${field}":"([0-9.]+)"`).exec(entry.lines)?.[1];
        if (place === undefined || !entry || value === undefined) return;
        const other = decimalFromMicro(microFromDecimal(value) + (isMore ? 1n : -1n));
        entries[place] = { ...entry, lines: entry.lines.replace(`"${field}":"${value}"`, `"${field}":"${other}"`) };
        const recomputation = new Recomputation();
        recomputation.take(entries);
        expect(recomputation.findings.map(({ seq }) => seq)).toContain(BigInt(place + 1));
        altered += 1;
      },
    ),
    runs(100),
  );
  expect(altered).toBeGreaterThan(50);
});

test("what is no number of money is recomputed too: the words of an entry that the engine would not have written", () => {
  const world = startedWorld();
  const { type, payload } = world.log[0] ?? {};
  expect({ type, payload }).toMatchObject({ type: "config.applied" });
  world.run({ type: "submitSuitability", id: "a1", traderId: "ann", answers: { q1: 4, q2: 4 } });
  world.run({ type: "restrictUser", traderId: "ann", restricted: true });
  const found = (from: string, to: string) => {
    const recomputation = new Recomputation();
    recomputation.take(sealed(world.log).map((each) => ({ ...each, lines: each.lines.replace(from, to) })));
    return recomputation.findings.map(({ about, what }) => `${about}: ${what}`);
  };
  expect(found('"score":8', '"score":9')).toEqual(["ann: score"]);
  expect(found('"state":"restricted"', '"state":"verified"')).toEqual(["ann: state"]);
  expect(found('"capitalAdded":"1', '"capitalAdded":"2')).toEqual(["configuration: treasury.capitalUsd"]);
  expect(found('"liquidity":"1000","marketId":"m1"', '"liquidity":"900000","marketId":"m1"')).toContain("m1: funds");
});

test("a clarification that the engine would have refused is found", () => {
  const world = startedWorld();
  for (let index = 1; index <= 20; index++)
    world.run({ type: "clarifyMarket", marketId: "m1", id: `c${index}`, text: "Drizzle counts." });
  world.run({ type: "settleMarket", marketId: "m2", outcome: "yes" });
  const forged = (payload: object) => {
    const recomputation = new Recomputation();
    const entry = { type: "market.clarified" as const, payload, at: world.now } as World["log"][number];
    recomputation.take(sealed([...world.log, entry]));
    return recomputation.findings.map(({ about, what }) => `${about}: ${what}`);
  };
  expect(forged({ marketId: "m1", id: "c20", text: "?" })).toEqual([
    "m1: clarified more than 20 times",
    "m1: repeats a clarification",
  ]);
  expect(forged({ marketId: "m2", id: "c21", text: "?" })).toEqual(["m2: clarified a market that is"]);
});

test("a dispute won with more than it was opened with credits no wallet", () => {
  const world = startedWorld();
  for (const [amountMicro, won] of [
    [10_000n, false],
    [10_001n, true],
  ] as const)
    run(world, {
      ...{ type: "recordPayment", provider: "stripe", reference: "p9", ownerId: undefined },
      fact: { kind: "dispute", id: "d9", amountMicro, won },
    });
  expect(world.log.slice(-2).map(({ type }) => type)).toEqual(["payment.conflict", "payment.conflict"]);
  expect(world.balance("wallet:")).toBe(0n);
});

test("a command decided by a clock that had stepped back is recomputed by its own instant", () => {
  const world = startedWorld();
  world.wait(1000);
  world.run(tradeOf({ amountMicro: 5_000_000n }));
  const log = sealed(world.log);
  const trade = log.at(-1);
  if (!trade) throw new Error("The trade is on record");
  // Dated an hour past the closing time, as the log's last entry was.
  const late = trade.lines.replace(/T\d\d:/, "T23:");
  const findings = (lines: string) => {
    const recomputation = new Recomputation();
    recomputation.take([...log.slice(0, -1), { ...trade, lines }]);
    return recomputation.findings.map(({ what }) => what);
  };
  expect(findings(late)).toEqual(["MARKET_CLOSED"]);
  const decidedAt = new Date(world.now).toISOString();
  expect(findings(late.replace('"fee"', `"decidedAt":"${decidedAt}","fee"`))).toEqual([]);
});

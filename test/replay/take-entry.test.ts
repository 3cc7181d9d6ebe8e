import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Command } from "../../src/engine/commands.ts";
import type { Table } from "../../src/engine/rows.ts";
import { LoggedRows } from "../../src/replay/logged-rows.ts";
import { loggedEntry, takeEntry } from "../../src/replay/take-entry.ts";
import { magnitude, runs } from "../domain/random.ts";
import { anyStep, anyTrader, isAsked, startedWorld } from "../engine/histories.ts";
import type { World } from "../engine/world.ts";

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

/** What no entry tells: versions, sums of an hour or a day, and the text of the tenant's document. */
const UNTOLD = /^(version|document|hour|hourVolumeMicro|hourFeeMicro|day|dayVolumeMicro|dayTrades|dayRealizedMicro)$/;

/** The rows of a table, by key; empty accounts and portfolios are as good as none. */
function told(rows: Pick<World, "all">, table: Table): Map<string, object> {
  const pairs = rows
    .all(table)
    .map(
      ([key, row]) => [key, Object.fromEntries(Object.entries(row).filter(([field]) => !UNTOLD.test(field)))] as const,
    );
  const isEmpty = ({ balanceMicro, exposureMicro }: Record<string, unknown>) =>
    balanceMicro === 0n || exposureMicro === 0n;
  return new Map(pairs.filter(([, row]) => !isEmpty(row)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function entryOf(written: Parameters<typeof loggedEntry>[0]) {
  const entry = loggedEntry(written);
  if (!entry) throw new Error(`${written.type} has no payload`);
  return entry;
}

const TOLD: Table[] = ["account", "market", "marketState", "position", "portfolio", "trader", "withdrawal", "tenant"];

test("the log alone gives the rows that the engine left, after every entry of any history", () => {
  let entries = 0;
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 10, maxLength: 60, size: "max" }), (steps) => {
      const world = startedWorld();
      const rows = new LoggedRows();
      const logged = { all: (table: Table) => [...rows.of(table)] } as Pick<World, "all">;
      let taken = 0;
      for (const { command, wait } of steps) {
        world.wait(wait);
        if (isAsked(world, command)) run(world, command);
        for (const { type, payload, at } of world.log.slice(taken))
          takeEntry(
            rows,
            entryOf({ type, payload: JSON.parse(canonicalJson(payload)), ts: new Date(at).toISOString() }),
          );
        if (world.log.length > taken) for (const table of TOLD) expect(told(logged, table)).toEqual(told(world, table));
        taken = world.log.length;
      }
      entries += taken;
    }),
    runs(60),
  );
  expect(entries).toBeGreaterThan(1000);
});

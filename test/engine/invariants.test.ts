import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import type { Command } from "../../src/engine/commands.ts";
import { runs } from "../domain/random.ts";
import { anyStep, isAsked, startedWorld } from "./histories.ts";
import { exposureOf, type World } from "./world.ts";

function held(world: World, marketId: string, side: string): bigint {
  return world
    .all("position")
    .filter(([, position]) => position.marketId === marketId && position.side === side)
    .reduce((sum, [, { sharesMicro }]) => sum + sharesMicro, 0n);
}

function checkLedger(world: World): void {
  for (const [id, market] of world.all("market")) {
    const marketState = world.get("marketState", id);
    if (!marketState) throw new Error(`${id} has no marketState`);
    const escrow = world.balance(`escrow:${id}`);
    if (marketState.status === "settled") expect(escrow).toBe(0n);
    else {
      expect(marketState.yesMicro + market.houseYesMicro + held(world, id, "yes")).toBe(escrow);
      expect(marketState.noMicro + market.houseNoMicro + held(world, id, "no")).toBe(escrow);
    }
  }
  for (const traderId of ["ann", "bob", "cat"]) {
    const pending = world.all("withdrawal").filter(([, row]) => row.traderId === traderId && row.status === "pending");
    expect(world.balance(`pending:${traderId}`)).toBe(pending.reduce((sum, [, row]) => sum + row.amountMicro, 0n));
  }
  for (const [, { sharesMicro, costMicro }] of world.all("position")) {
    expect(sharesMicro).toBeGreaterThanOrEqual(0n);
    expect(costMicro).toBeGreaterThanOrEqual(0n);
    if (sharesMicro === 0n) expect(costMicro).toBe(0n);
  }
  const accounts = world.all("account");
  expect(accounts.reduce((sum, [, { balanceMicro }]) => sum + balanceMicro, 0n)).toBe(0n);
  for (const [id, { balanceMicro }] of accounts)
    if (!id.startsWith("external:") && !id.startsWith("receivable:")) expect(balanceMicro).toBeGreaterThanOrEqual(0n);
  for (const [traderId, portfolio] of world.all("portfolio"))
    expect(portfolio.exposureMicro).toBe(exposureOf(world, traderId));
}

/** Runs the command if it is not refused, and checks that its transfers say what its new balances say. */
function runAndCompare(world: World, command: Command): boolean {
  const before = new Map(world.all("account").map(([id, { balanceMicro }]) => [id, balanceMicro]));
  const expected = new Map(before);
  try {
    for (const { debit, credit, amountMicro } of world.run(command).draft.transfers) {
      expected.set(debit, (expected.get(debit) ?? 0n) - amountMicro);
      expected.set(credit, (expected.get(credit) ?? 0n) + amountMicro);
    }
  } catch (fault) {
    // A refusal is an answer; anything else is a bug that the property has found.
    if (!(fault instanceof Fault)) throw fault;
    return false;
  }
  expect(new Map(world.all("account").map(([id, { balanceMicro }]) => [id, balanceMicro]))).toEqual(expected);
  return true;
}

test("after every command: escrow = YES = NO outstanding, all accounts add up to zero, exposures are sums of costs", () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(anyStep, { minLength: 20, maxLength: 80, size: "max" }), (steps) => {
      const world = startedWorld();
      for (const { command, wait } of steps) {
        world.wait(wait);
        if (!isAsked(world, command)) continue;
        if (runAndCompare(world, command)) accepted += 1;
        checkLedger(world);
      }
    }),
    runs(400),
  );
  expect(accepted).toBeGreaterThan(5000);
});

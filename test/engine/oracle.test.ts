import { describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import { needsOf } from "../../src/engine/commands.ts";
import { CLOSE, marketOf, openWorld } from "./world.ts";

const terms = {
  feed: "pm:btc",
  comparator: ">" as const,
  strike: "100000",
  upperStrike: null,
  instant: CLOSE,
  rule: { kind: "last" as const },
  feedSha256: "f".repeat(64),
};
const settle = (change: Partial<Command<"settleMarket">["oracle"]> = {}): Command<"settleMarket"> => ({
  type: "settleMarket",
  marketId: "m1",
  outcome: "yes",
  oracle: { resolutionUrl: null, evidence: { price: "100001" }, ...change },
});
const hold = (reason: Command<"holdMarket">["reason"]): Command<"holdMarket"> => ({
  type: "holdMarket",
  marketId: "m1",
  reason,
  detail: "why",
});

function closedMarket() {
  const world = openWorld();
  world.run(marketOf({ terms }));
  world.now = CLOSE;
  return world;
}

describe("a market that settles itself", () => {
  test("carries its terms from its creation, in the row and on record, and is watched", () => {
    const world = openWorld();
    const { draft } = world.run(marketOf({ terms }));
    expect(draft.audit[0]?.payload).toMatchObject({
      terms: { feed: "pm:btc", strike: "100000", instant: new Date(CLOSE).toISOString() },
    });
    expect(world.get("market", "m1")?.terms).toContain('"strike":"100000"');
    expect(world.get("watch", "m1")).toMatchObject({ instantAt: CLOSE, parsed: true, settled: false, hold: null });
  });

  test("is settled with its evidence in the same commit, and is watched no more", () => {
    const world = closedMarket();
    const { draft } = world.run(settle());
    expect(draft.audit.map(({ type }) => type)).toEqual(["market.settled", "oracle.resolved"]);
    expect(draft.audit[1]?.payload).toEqual({ marketId: "m1", outcome: "yes", price: "100001" });
    expect(world.get("watch", "m1")).toMatchObject({ settled: true });
    expect(world.refusal(settle())).toBe("MARKET_SETTLED");
  });

  test("is watched no more once a person settled it, without an entry of the oracle", () => {
    const world = closedMarket();
    const { draft } = world.run({ type: "settleMarket", marketId: "m1", outcome: "no" });
    expect(draft.audit.map(({ type }) => type)).toEqual(["market.settled"]);
    expect(world.get("watch", "m1")).toMatchObject({ settled: true });
  });

  test("is never settled by a machine before its close, while suspended, or by an oracle that decides no longer", () => {
    const world = closedMarket();
    world.now = CLOSE - 1;
    expect(world.refusal(settle())).toBe("REFUSED");
    world.run({ type: "suspendMarket", marketId: "m1" });
    world.now = CLOSE;
    expect(world.refusal(settle())).toBe("MARKET_SUSPENDED");
    const changed = closedMarket();
    changed.policy({ resolution_url: "https://oracle.example/a" });
    expect(changed.refusal(settle())).toBe("REFUSED");
    expect(changed.refusal(settle({ resolutionUrl: "https://oracle.example/b" }))).toBe("REFUSED");
    expect(changed.refusal(settle({ resolutionUrl: "https://oracle.example/a" }))).toBe("accepted");
  });

  test("is held on record once per change of reason, and not when it is suspended or settled", () => {
    const world = closedMarket();
    expect(world.run(hold("stale")).draft.audit).toEqual([
      { type: "oracle.held", payload: { marketId: "m1", reason: "stale", detail: "why" } },
    ]);
    expect(world.run(hold("stale"))).toMatchObject({ result: { recorded: false }, draft: { audit: [] } });
    expect(world.run(hold("feed down")).result).toEqual({ recorded: true });
    expect(world.run(hold("stale")).result).toEqual({ recorded: true });
    world.run({ type: "settleMarket", marketId: "m1", outcome: "no" });
    expect(world.run(hold("spread")).draft.audit).toEqual([]);
  });

  test("is settled by a machine only from rows that were loaded for it", () => {
    const tables = needsOf(settle()).map(({ table }) => table);
    expect(tables).toEqual(expect.arrayContaining(["market", "marketState", "watch", "tenant", "holders"]));
  });
});

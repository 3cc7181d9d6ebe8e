import { beforeEach, describe, expect, test } from "vitest";
import type { MarketStatus } from "../../src/domain/market/market.ts";
import type { Command } from "../../src/engine/commands.ts";
import { CLOSE, marketOf, NOW, openWorld, tradeOf, usd, type World } from "./world.ts";

let world: World;

beforeEach(() => {
  world = openWorld();
  world.fund("ann", 100);
});

/** A market in the state, each reached by commands. "closed" past its time while open, or while suspended. */
function bring(state: MarketStatus | "closed while suspended"): void {
  world.run(marketOf());
  if (state === "suspended" || state === "closed while suspended") world.run({ type: "suspendMarket", marketId: "m1" });
  if (state === "settled") world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
  if (state.startsWith("closed")) world.now = CLOSE;
}

const COMMANDS = {
  suspend: { type: "suspendMarket", marketId: "m1" },
  resume: { type: "resumeMarket", marketId: "m1" },
  settle: { type: "settleMarket", marketId: "m1", outcome: "no" },
  clarify: { type: "clarifyMarket", marketId: "m1", id: "c1", text: "Drizzle counts." },
  trade: tradeOf(),
} satisfies Record<string, Command>;

/** Decision 15 as a table: "changes" commits something, "no-op" is accepted and commits nothing. */
const TRANSITIONS: [state: Parameters<typeof bring>[0], command: keyof typeof COMMANDS, expected: string][] = [
  ["open", "suspend", "changes"],
  ["open", "resume", "no-op"],
  ["open", "settle", "changes"],
  ["open", "clarify", "changes"],
  ["open", "trade", "changes"],
  ["suspended", "suspend", "no-op"],
  ["suspended", "resume", "changes"],
  ["suspended", "settle", "changes"],
  ["suspended", "clarify", "changes"],
  ["suspended", "trade", "MARKET_SUSPENDED"],
  ["closed", "suspend", "MARKET_CLOSED"],
  ["closed", "resume", "MARKET_CLOSED"],
  ["closed", "settle", "changes"],
  ["closed", "clarify", "changes"],
  ["closed", "trade", "MARKET_CLOSED"],
  ["closed while suspended", "suspend", "MARKET_CLOSED"],
  ["closed while suspended", "resume", "MARKET_CLOSED"],
  ["closed while suspended", "settle", "changes"],
  ["closed while suspended", "clarify", "changes"],
  ["closed while suspended", "trade", "MARKET_CLOSED"],
  ["settled", "suspend", "MARKET_SETTLED"],
  ["settled", "resume", "MARKET_SETTLED"],
  ["settled", "settle", "MARKET_SETTLED"],
  ["settled", "clarify", "MARKET_SETTLED"],
  ["settled", "trade", "MARKET_SETTLED"],
];

describe("states of a market", () => {
  test.each(TRANSITIONS)("%s: %s is %s", (state, name, expected) => {
    bring(state);
    const command = COMMANDS[name];
    const refusal = world.refusal(command);
    if (refusal !== "accepted") expect(refusal).toBe(expected);
    else {
      const { draft } = world.decide(command);
      const written = [...draft.writes()].length + draft.audit.length;
      expect(written === 0 ? "no-op" : "changes").toBe(expected);
    }
  });

  test.each(["suspend", "resume", "settle", "trade"] as const)(
    "%s of a market that is not there is refused",
    (name) => {
      expect(world.refusal(COMMANDS[name])).toBe("MARKET_NOT_FOUND");
    },
  );

  test("a suspend and a resume end where they began, and both are on record", () => {
    bring("suspended");
    const { draft, result } = world.run({ type: "resumeMarket", marketId: "m1" });
    expect(result).toEqual({ id: "m1", status: "open" });
    expect(draft.audit).toEqual([{ type: "market.resumed", payload: { marketId: "m1" } }]);
    expect(world.refusal(tradeOf())).toBe("accepted");
  });

  test("a resume must be committed before the market closes; a suspend and a settlement need not", () => {
    bring("suspended");
    expect(world.decide({ type: "resumeMarket", marketId: "m1" }).draft.before).toBe(CLOSE);
    expect(world.decide({ type: "settleMarket", marketId: "m1", outcome: "yes" }).draft.before).toBeNull();
  });
});

describe("createMarket", () => {
  test("a fund that leaves a side of the pool empty is refused, and the least one that does not is taken", () => {
    const cpmm = { kind: "cpmm", p0Ppm: 10_000 } as const;
    expect(world.refusal(marketOf({ ...cpmm, liquidityMicro: 98n }))).toBe("BAD_REQUEST");
    expect(world.refusal(marketOf({ ...cpmm, liquidityMicro: 99n }))).toBe("accepted");
  });

  test("moves F from the treasury into escrow, and the pool and the house share the F complete sets", () => {
    const { result } = world.run(marketOf({ p0Ppm: 300_000 }));
    expect(result).toEqual({ id: "m1", yesPrice: 0.3, createdAt: NOW });
    expect(world.balance("treasury")).toBe(usd(99_000));
    expect(world.balance("escrow:m1")).toBe(usd(1000));
    const [market, marketState] = [world.get("market", "m1"), world.get("marketState", "m1")];
    expect((marketState?.yesMicro ?? 0n) + (market?.houseYesMicro ?? 0n)).toBe(usd(1000));
    expect((marketState?.noMicro ?? 0n) + (market?.houseNoMicro ?? 0n)).toBe(usd(1000));
  });

  test("its own liquidity counts before the tenant's", () => {
    world.run(marketOf({ liquidityMicro: usd(77) }));
    expect(world.balance("escrow:m1")).toBe(usd(77));
    expect(world.get("market", "m1")?.fundMicro).toBe(usd(77));
  });

  test("exactly the whole treasury can fund a market, a micro-dollar more cannot", () => {
    const tooLarge = marketOf({ liquidityMicro: usd(100_000) + 1n });
    expect(world.refusal(tooLarge)).toBe("TREASURY_INSUFFICIENT");
    expect(() => world.decide(tooLarge)).toThrow("it needs $100000.000001, and the treasury holds $100000");
    expect(world.refusal(marketOf({ liquidityMicro: usd(100_000) }))).toBe("accepted");
  });

  test("closeAt must be in the future: the present instant is not", () => {
    expect(world.refusal(marketOf({ closeAt: NOW }))).toBe("BAD_REQUEST");
    expect(world.refusal(marketOf({ closeAt: NOW + 1 }))).toBe("accepted");
  });

  test("the record names the terms", () => {
    const { draft } = world.decide(marketOf({ p0Ppm: 1_000, kind: "lmsr" }));
    expect(draft.audit).toEqual([
      {
        type: "market.created",
        payload: {
          marketId: "m1",
          question: "Will it rain?",
          category: "weather",
          kind: "lmsr",
          p0: "0.001",
          closeAt: new Date(CLOSE).toISOString(),
          resolutionRef: "manual",
          meta: {},
          liquidity: "1000",
        },
      },
    ]);
  });
});

import { describe, expect, test } from "vitest";
import { settledWords, subjectOf } from "../../src/cli/commands/user-lines.ts";

const AT = "2030-05-02T09:00:00.000Z";
const held = { marketId: "mkt_1", question: "Rain?", side: "yes", shares: 20, cost: 10, settledAt: AT } as const;
type Settled = Parameters<typeof settledWords>[0];
const settled: Settled = { ...held, outcome: "yes", payout: 20, reason: null, corrections: [] };

describe("a settled position in words", () => {
  test("tells its outcome and what it paid", () => {
    expect(settledWords(settled)).toBe("yes won, paid 20.00");
    expect(settledWords({ ...settled, outcome: { yes: 0.4 }, payout: 8 })).toBe("yes=0.4, paid 8.00");
  });

  test("tells why the market was voided", () => {
    const voided = { outcome: "void", payout: 10, reason: "It was never played" } as const;
    expect(settledWords({ ...settled, ...voided })).toBe("void, paid back 10.00: It was never played");
  });

  test("tells each later change of the outcome", () => {
    const first = { from: "yes", to: "no", at: AT, reason: "The final report" } as const;
    const second = { from: "no", to: { yes: 0.25 }, at: AT, reason: "A recount" } as const;
    const corrected = { ...settled, outcome: second.to, payout: 5, reason: second.reason };
    expect(settledWords({ ...corrected, corrections: [first, second] })).toBe(
      "yes=0.25, paid 5.00; corrected from yes to no at 2030-05-02 09:00:00Z: The final report; " +
        "corrected from no to yes=0.25 at 2030-05-02 09:00:00Z: A recount",
    );
  });
});

test("a line of a statement names what moved the money, and how its market ended", () => {
  const line = { seq: 1, ts: AT, type: "trade.executed", amount: 1, balance: 1 };
  expect(subjectOf(line)).toBe("-");
  expect(subjectOf({ ...line, marketId: "mkt_1", tradeId: "trd_1" })).toBe("trd_1");
  const ended = { ...line, marketId: "mkt_1" };
  expect(subjectOf({ ...ended, outcome: { yes: 0.4 } })).toBe("mkt_1, yes=0.4");
  // A change of the debt alone moves no money of the wallet, and is told in words.
  const owing = { ...ended, from: "yes", outcome: "no", reason: "It rained" } as const;
  expect(subjectOf({ ...owing, owed: 15.13 })).toBe("mkt_1, from yes to no, 15.13 owed more: It rained");
  expect(subjectOf({ ...line, reference: "tx_1", owed: -10.5 })).toBe("tx_1, 10.50 of the debt repaid");
  expect(subjectOf({ ...ended, outcome: "void", reason: "It broke" })).toBe("mkt_1, void: It broke");
  expect(subjectOf({ ...ended, from: "yes", outcome: "no", reason: "Dew" })).toBe("mkt_1, from yes to no: Dew");
});

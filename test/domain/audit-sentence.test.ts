import { describe, expect, test } from "vitest";
import type { AuditPayloads, AuditType } from "../../src/domain/audit/audit-payloads.ts";
import { AUDIT_TYPES, fittedSentence, sentenceOf } from "../../src/domain/audit/sentence.ts";

const trade: AuditPayloads["trade.executed"] = {
  tradeId: "trd_1",
  marketId: "mkt_1",
  userId: "alice",
  side: "yes",
  amount: "33.33",
  fee: "0.3333",
  shares: "80.697512",
  yesPriceAfter: "0.51",
};
const entry = <T extends AuditType>(type: T, actor: string, payload: AuditPayloads[T] & { reason?: string }) => ({
  type,
  actor,
  payloadText: JSON.stringify(payload),
});
const bought = entry("trade.executed", "user:alice", trade);

const SETTLED: AuditPayloads["market.settled"] = {
  marketId: "mkt_1",
  outcome: "yes",
  payouts: 1,
  paid: "98",
  returned: "952",
  houseResult: "-48",
};
const PROPOSAL = {
  proposalId: "prp_1",
  kind: "settle",
  marketId: "mkt_1",
  finalAt: "2030-01-31T18:00:00.000Z",
} as const;

describe("the sentence of an audit entry", () => {
  test.each([
    ["a purchase", bought, "alice bought 80.7 Yes of 'Will it rain?' for $33.33"],
    [
      "a purchase whose shares are rounded as views round them",
      entry("trade.executed", "user:alice", { ...trade, shares: "57.999895" }),
      "alice bought 58 Yes of 'Will it rain?' for $33.33",
    ],
    [
      "a sale that an operator placed",
      entry("trade.executed", "admin:ops", { ...trade, side: "no", action: "sell", amount: "5", shares: "0.000012" }),
      "alice sold 0.000012 No of 'Will it rain?' for $5.00 through admin:ops",
    ],
    [
      "a correction of a void",
      entry("market.corrected", "cli:root", {
        ...{ marketId: "mkt_1", from: "void", outcome: "no", until: 0, users: 1 },
        ...{ takenBack: "5", receivables: "0", paid: "2", fees: "0", treasury: "0" },
      } as never),
      "cli:root corrected 'Will it rain?' from Void to No: $5.00 taken back, $2.00 paid",
    ],
    [
      "a settlement with a loss",
      entry("market.settled", "cli:root", {
        marketId: "mkt_1",
        outcome: "yes",
        payouts: 1,
        paid: "98.325022",
        returned: "951.67",
        houseResult: "-48.32",
      }),
      "cli:root settled 'Will it rain?' as Yes: 1 position paid $98.325022, house result -$48.32",
    ],
    [
      "an apply that changes limits and who must agree",
      entry("config.applied", "admin:ops", {
        ...{ sha256: "", gitCommit: undefined, capitalAdded: "0", document: {}, rollbackTo: undefined },
        ...{ adopted: undefined, state: {} as never, policy: { feeBps: {}, maxTradeUsd: {} } },
        rules: { "approvals.key": { from: null, to: { approvals: 2 } }, "resolution.holdHours": { from: 0, to: 24 } },
      }),
      "admin:ops applied the tenant file: policy feeBps, maxTradeUsd; approvals.key; resolution.holdHours",
    ],
    [
      "a clarification of several lines",
      entry("market.clarified", "admin:ops", {
        marketId: "mkt_1",
        id: "clr_1",
        text: "Drizzle counts.\n\tHail too.\n",
      }),
      `admin:ops clarified 'Will it rain?': "Drizzle counts. Hail too."`,
    ],
    [
      "a change with its reason",
      entry("policy.updated", "admin:ops", {
        changes: { feeBps: { from: 100, to: 200 } },
        until: "2030-01-31T18:00:00.000Z",
        state: {} as AuditPayloads["policy.updated"]["state"],
        reason: "the finals",
      }),
      'admin:ops changed feeBps from 100 to 200 until 2030-01-31 18:00Z: "the finals"',
    ],
    [
      "a settlement by the oracle",
      entry("market.settled", "oracle", SETTLED),
      "oracle settled 'Will it rain?' as Yes: 1 position paid $98.00, house result -$48.00",
    ],
    [
      "a settlement that people proposed and the server carried out",
      entry("market.settled", "oracle", { ...SETTLED, reason: "final report" }),
      "a proposal whose hold had ended settled 'Will it rain?' as Yes: 1 position paid $98.00, house result -$48.00: \"final report\"",
    ],
    [
      "the end of a proposal's hold",
      entry("proposal.executed", "oracle", { ...PROPOSAL, result: null }),
      "the server executed the proposal prp_1 (settle), whose hold had ended",
    ],
    [
      "an objection that an operator made for a user",
      entry("proposal.objected", "admin:ops", { ...PROPOSAL, userId: "bob", objections: 1, reason: "It rained" }),
      'bob objected to the proposal prp_1 (settle) through admin:ops, as 1 user did: "It rained"',
    ],
    [
      "a credit by hand",
      entry("wallet.credited", "admin:ops", { creditId: "crd_1", userId: "alice", amount: "5", provider: "operator" }),
      "admin:ops credited alice with $5.00",
    ],
    [
      "a deposit that pays what was owed",
      entry("wallet.credited", "provider:stripe", {
        userId: "alice",
        amount: "5.5",
        receivable: "2",
        txRef: "pi_1",
        provider: "stripe",
      }),
      "alice received $5.50 through stripe, reference pi_1, $2.00 of it for what was owed",
    ],
  ])("says who did what: %s", (_, told, sentence) => {
    expect(sentenceOf(told, "Will it rain?")).toBe(sentence);
  });

  test("names the market by its id where its question is not known", () => {
    expect(sentenceOf(bought)).toBe("alice bought 80.7 Yes of market mkt_1 for $33.33");
  });

  test.each(AUDIT_TYPES)("of %s is its actor and type when a tampered payload lacks its fields", (type) => {
    for (const payloadText of ["", "[]", '{"x":1}'])
      expect(() => sentenceOf({ type, actor: "a", payloadText })).not.toThrow();
    expect(sentenceOf({ type, actor: "a", payloadText: "no JSON" })).toBe(`a: ${type}`);
  });

  test("of a type that this version does not know is its actor and type", () => {
    expect(sentenceOf({ type: "moon.landed", actor: "a", payloadText: '{"x":1}' })).toBe("a: moon.landed");
  });

  test("is shortened in its question where it then fits, and is whole where too little of the question would be left", () => {
    const question = "Will the central bank lower its rate in December?";
    const shown = fittedSentence(bought, question, 62);
    expect(shown).toBe("alice bought 80.7 Yes of 'Will the central bank l…' for $33.33");
    expect(shown.length).toBeLessThanOrEqual(62);
    expect(fittedSentence(bought, question, 52)).toBe(`alice bought 80.7 Yes of '${question}' for $33.33`);
    expect(fittedSentence(bought, "Rain?", 10)).toBe("alice bought 80.7 Yes of 'Rain?' for $33.33");
  });
});

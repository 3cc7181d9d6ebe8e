import { describe, expect, test } from "vitest";
import { chooseCommand } from "../../src/cli/commands/inbox.ts";
import { compareItems, type InboxItem, stateOf } from "../../src/client/inbox/item.ts";
import {
  brokenChain,
  endingOverrides,
  expiringKeys,
  failingReceivers,
  missingBackup,
  unbalancedLedger,
  waitingMarkets,
  waitingProposals,
  waitingWithdrawals,
} from "../../src/client/inbox/waiting.ts";
import { testIo } from "./support/io.ts";

const item = (id: string, change: Partial<InboxItem> = {}): InboxItem => ({
  tenant: "acme",
  kind: "withdrawal",
  severity: "warn",
  id,
  title: id,
  amountUsd: null,
  since: null,
  dueAt: null,
  commands: [`pmctl funding approve ${id}`, `pmctl funding reject ${id}`],
  ...change,
});

const NOW = Date.parse("2030-01-01T00:00:00Z");
const DAY_MS = 86_400_000;
const at = (days: number) => new Date(NOW + days * DAY_MS).toISOString();

test("an inbox is ordered by broken evidence, tenants out of reach, money, due time and age", () => {
  const sorted = [
    item("chain", { kind: "chain" }),
    item("ledger", { kind: "ledger", amountUsd: 1 }),
    item("gone", { kind: "unreachable" }),
    item("rich", { amountUsd: 500 }),
    item("poor", { amountUsd: 5 }),
    item("nothing", { amountUsd: 0 }),
    item("soon", { dueAt: at(1) }),
    item("later", { dueAt: at(2), since: at(-9) }),
    item("old", { since: at(-3) }),
    item("young", { since: at(-2) }),
    item("timeless"),
  ];
  const ids = (items: InboxItem[]) => items.map(({ id }) => id);
  expect(ids(sorted.toReversed().toSorted(compareItems))).toEqual(ids(sorted));
});

describe("what an inbox means for a scheduled check", () => {
  const [gone, chain, info] = [
    item("g", { kind: "unreachable" }),
    item("c", { kind: "chain" }),
    item("i", { severity: "info" }),
  ];
  test.each([
    ["nothing", [], "clear"],
    ["notes alone", [info], "clear"],
    ["something to decide", [info, item("w")], "waiting"],
    ["one tenant of two out of reach", [gone, item("w")], "partly unreachable"],
    ["both out of reach", [gone, item("h", { kind: "unreachable", tenant: "b" })], "unreachable"],
    ["a log that does not hold, whatever else", [gone, chain], "integrity"],
    ["a ledger that does not add up", [item("l", { kind: "ledger" })], "integrity"],
  ] as const)("%s", (_, items, state) => {
    expect(stateOf(items, 2)).toBe(state);
  });
});

test("a held market is one item, with its larger payout and the commands that decide it", () => {
  const risk = { maxLiability: 1, closeAt: at(-1) };
  const risks = [
    { ...risk, marketId: "mkt_1", question: "Rain 1?", yesPayout: 20, noPayout: 30 },
    { ...risk, marketId: "mkt_2", question: "Rain 2?", yesPayout: 0, noPayout: 0 },
  ];
  const hold = {
    marketId: "mkt_1",
    question: "",
    resolutionRef: "",
    reason: "feed down",
    detail: "",
    heldAt: at(-0.5),
  };
  const [held, closed, ...others] = waitingMarkets("acme", risks, [{ ...hold, reason: "feed down" }]);
  expect(others).toEqual([]);
  expect(held).toMatchObject({ kind: "market.held", id: "mkt_1", amountUsd: 30, since: at(-0.5) });
  expect(held?.commands[0]).toBe("pmctl market settle mkt_1 --outcome yes -t acme");
  expect(closed).toMatchObject({ kind: "market.closed", id: "mkt_2", amountUsd: 0, since: at(-1) });
});

test("withdrawals, overrides, keys, receivers and backups wait with their time, and what is far off does not", () => {
  const limits = { now: NOW, until: NOW + 14 * DAY_MS };
  const withdrawal = {
    withdrawalId: "wd_1",
    userId: "ann",
    amount: 12.5,
    status: "pending",
    createdAt: at(-1),
  } as const;
  expect(waitingWithdrawals("acme", [withdrawal])).toMatchObject([
    { kind: "withdrawal", id: "wd_1", amountUsd: 12.5, since: at(-1), severity: "warn" },
  ]);
  const override = (days: number) => ({ field: "feeBps", value: 5, until: at(days) }) as const;
  expect(endingOverrides("acme", [override(1), override(15)], limits.until)).toMatchObject([
    { kind: "override", id: "feeBps", severity: "info", dueAt: at(1) },
  ]);
  const key = (name: string, expiresAt: string | null) => ({
    name,
    type: "admin" as const,
    fingerprint: "fp:0a1b2c3d",
    scopes: [],
    from: [],
    createdAt: at(-9),
    expiresAt,
    leaked: false,
  });
  expect(
    expiringKeys("acme", [key("now", at(1)), key("soon", at(9)), key("far", at(20)), key("never", null)], limits),
  ).toMatchObject([
    { kind: "key", id: "now", severity: "critical", dueAt: at(1) },
    { kind: "key", id: "soon", severity: "warn" },
  ]);
  // A rotated key's old value ends as it should; the newest is what stops something.
  expect(expiringKeys("acme", [key("ops", at(1)), key("ops", null)], limits)).toEqual([]);
  expect(expiringKeys("acme", [key("ops", at(1)), key("ops", at(9))], limits)).toMatchObject([{ dueAt: at(9) }]);
  expect(expiringKeys("acme", [key("ops", at(1)), { ...key("ops", null), type: "public" }], limits)).toHaveLength(1);
  const receiver = { name: "desk", enabled: true, disabledAt: null, sequence: 1, pending: 2, dead: 0, failures: 2 };
  expect(failingReceivers("acme", [receiver])).toEqual([]);
  expect(failingReceivers("acme", [{ ...receiver, failures: 3 }])).toMatchObject([
    {
      title: "The receiver desk: its last 3 attempts failed, 2 on their way",
      commands: ["pmctl webhook deliveries --receiver desk --status pending -t acme"],
    },
  ]);
  expect(failingReceivers("acme", [{ ...receiver, dead: 3 }])[0]?.title).toContain("3 events given up");
  expect(failingReceivers("acme", [{ ...receiver, enabled: false, disabledAt: at(-2) }])[0]?.since).toBe(at(-2));
  expect(missingBackup("acme", null, NOW)).toMatchObject([{ kind: "backup", severity: "info" }]);
  expect(missingBackup("acme", at(-8), NOW)).toMatchObject([{ severity: "warn", since: at(-8) }]);
  expect(missingBackup("acme", at(-6), NOW)).toEqual([]);
});

test("a chain and a ledger wait only when they do not hold", () => {
  const head = { seq: 3, hash: "0".repeat(64), ts: at(0) };
  const sound = { verified: true, head: head.hash, count: 3, problem: null, anchor: null };
  expect(brokenChain("acme", sound)).toEqual([]);
  const problem = { kind: "broken" as const, seq: 2, text: "the hash is another" };
  expect(brokenChain("acme", { ...sound, verified: false, problem })).toMatchObject([{ kind: "chain", id: "2" }]);
  const check = {
    name: "escrow",
    unit: "usd",
    ok: false,
    discrepancy: 4,
    stated: 5,
    expected: 1,
    rows: 1,
    places: [],
  } as const;
  expect(unbalancedLedger("acme", [{ ...check, ok: true, discrepancy: 0, places: [] }])).toEqual([]);
  expect(unbalancedLedger("acme", [{ ...check, places: [] }])).toMatchObject([{ kind: "ledger", amountUsd: 4 }]);
});

test("on a terminal an item and then one of its commands is chosen, and leaving runs nothing", async () => {
  const items = [item("a"), item("b")];
  expect(await chooseCommand(items, testIo({ answers: ["1", "pmctl funding reject b"] }))).toBe(
    "pmctl funding reject b",
  );
  expect(await chooseCommand(items, testIo({ answers: ["leave"] }))).toBeUndefined();
  expect(await chooseCommand(items, testIo({ answers: ["0", "leave"] }))).toBeUndefined();
  expect(await chooseCommand([], testIo({ answers: [] }))).toBeUndefined();
});

describe("proposals that wait", () => {
  const proposal = {
    ...{ proposalId: "prp_1", kind: "settle", status: "pending", marketId: "mkt_1", outcome: "yes", reason: null },
    ...{ evidence: null, proposedAt: at(-1), finalAt: at(1), approvalsNeeded: 2, objections: 0, decidedAt: null },
    ...{ request: { operation: "settleMarket", marketId: "mkt_1", outcome: "yes" }, proposedBy: "admin:ops" },
    ...{ approvals: [{ by: "admin:ops", at: at(-1) }], decidedBy: null, result: null },
  } as const;
  const both = [...proposal.approvals, { by: "admin:eve", at: at(0) }];
  const shown = (change: object) => {
    const [only] = waitingProposals("acme", [{ ...proposal, ...change } as never], NOW);
    return [only?.kind, only?.severity, only?.dueAt, ...(only?.commands ?? []).map((line) => line.split(" ")[2])];
  };

  test("name what they do, who proposed it, and the commands that decide", () => {
    const [only] = waitingProposals("acme", [proposal as never], NOW);
    expect(only?.title).toBe("admin:ops proposes to settle mkt_1 as yes: 1 of 2 approvals");
    expect(only?.commands[0]).toBe("pmctl proposal approve prp_1 -t acme");
  });

  test.each([
    ["an approval is missing", {}, ["market.proposed", "warn", at(1), "approve", "reject", "show"]],
    ["only its time is missing", { approvals: both }, ["market.proposed", "info", at(1), "reject", "show"]],
    [
      "its time has just come",
      { approvals: [...proposal.approvals, { by: "admin:eve", at: at(-0.5) }], finalAt: at(0) },
      ["market.proposed", "info", null, "reject", "show"],
    ],
    [
      "the last approval has just come",
      { approvals: both, finalAt: at(-1) },
      ["market.proposed", "info", null, "reject", "show"],
    ],
    [
      "it could not be executed when its time came",
      { approvals: [...proposal.approvals, { by: "admin:eve", at: at(-0.5) }], finalAt: at(-0.1) },
      ["market.proposed", "warn", null, "execute", "reject", "show"],
    ],
    [
      "users object",
      { approvals: both, objections: 1, finalAt: at(-1) },
      ["market.proposed", "warn", null, "execute", "reject", "show"],
    ],
    [
      "a key is to be issued",
      { kind: "key", marketId: null, approvals: both, finalAt: at(-1) },
      ["proposal", "warn", null, "execute", "reject", "show"],
    ],
  ])("%s", (_case, change, expected) => {
    expect(shown(change)).toEqual(expected);
  });
});

import { expect, test } from "vitest";
import { canonicalJson, type Json } from "../../src/domain/audit/audit-link.ts";
import type { Work } from "../../src/engine/approvals/decisions.ts";
import { type Command, workOf } from "../../src/engine/commands.ts";
import { Recomputation } from "../../src/replay/recomputation.ts";
import { marketOf, openWorld, tradeOf, usd, type World } from "../engine/world.ts";
import { sealed } from "./sealed-log.ts";

const HOUR = 3_600_000;
const settling: Command<"settleMarket"> = { type: "settleMarket", marketId: "m1", outcome: "yes" };
const work = workOf(settling, "{}", () => null) as Work;
const RULES: Json = {
  resolution: { holdHours: 0.5, approvals: 2 },
  approvals: { withdraw: { aboveUsd: 10, approvals: 2 }, credit: { aboveUsd: 10, approvals: 2 } },
};

/** Ann holds shares; a settlement was proposed, and after its hold approved and carried out. */
function settledWorld(): World {
  const world = openWorld({}, RULES as object);
  world.run(marketOf());
  world.run({ type: "recordDeposit", provider: "payments", traderId: "ann", amountMicro: usd(500), reference: "t" });
  world.run(tradeOf({ amountMicro: usd(20) }));
  const asked = { proposalId: "p1", by: "admin:ops", request: "{}", evidence: null };
  world.run({ ...settling, asked });
  world.run({ type: "objectToProposal", proposalId: "p1", marketId: "m1", traderId: "ann", reason: "It rained" });
  world.run({ type: "approveProposal", proposalId: "p1", by: "admin:eve", work });
  world.wait(HOUR / 2);
  world.run({ type: "executeProposal", proposalId: "p1", by: "admin:eve", work });
  return world;
}

/** A credit to ann for which two operators are needed: proposed, approved and so carried out. */
function creditedWorld(): World {
  const world = openWorld({}, RULES as object);
  const credit = (id: string, dollars: number) =>
    ({ type: "creditWallet", id, traderId: "ann", amountMicro: usd(dollars) }) as const;
  world.run(credit("c0", 10));
  const request = canonicalJson({ operation: "creditWallet", id: "ann", amount: 20.5, reason: "goodwill" });
  world.run({ ...credit("c1", 20.5), asked: { proposalId: "p1", by: "admin:ops", request, evidence: null } });
  const paying = workOf(credit("c2", 20.5), request, () => null) as Work;
  world.run({ type: "approveProposal", proposalId: "p1", by: "admin:eve", work: paying });
  world.run(credit("c3", 10));
  return world;
}

type Entry = World["log"][number];

function found(log: readonly Entry[]): string[] {
  const recomputation = new Recomputation();
  recomputation.take(sealed(log));
  return recomputation.findings.map(({ about, what }) => `${about}: ${what}`);
}

/** The findings after each entry was replaced by others. */
const findings = (change: (entry: Entry) => Entry[]) => found(settledWorld().log.flatMap(change));
const without = (type: string) => findings((entry) => (entry.type === type ? [] : [entry]));
const changed = (type: string, change: Partial<Entry>) =>
  findings((entry) => [entry.type === type ? ({ ...entry, ...change } as Entry) : entry]);
const after = (type: string, added: Partial<Entry>) =>
  findings((entry) => (entry.type === type ? [entry, { ...entry, ...added } as Entry] : [entry]));
const named = { proposalId: "p1", kind: "settle", marketId: "m1" };

test("an honest log has no findings", () => {
  expect(findings((entry) => [entry])).toEqual([]);
});

test("an execution with too few approvals, and the payment that it made, are found", () => {
  expect(without("proposal.approved")).toEqual(["market:m1: agreed to", "p1: approvals missing"]);
});

test("an approval by the same actor twice is found, and so are false counts", () => {
  expect(changed("proposal.approved", { actor: "admin:ops" })).toEqual(["p1: approved twice by an actor"]);
  const payload = { ...named, approvals: 3, approvalsNeeded: 1 } as Entry["payload"];
  expect(changed("proposal.approved", { payload })).toEqual(["p1: approvals", "p1: approvalsNeeded"]);
});

test("an execution before its time is found", () => {
  const { log } = settledWorld();
  const early = log.map((entry) =>
    entry.type === "market.settled" || entry.type === "proposal.executed" ? { ...entry, at: entry.at - 1 } : entry,
  );
  expect(found(early)).toEqual(["market:m1: agreed to", "p1: executed before"]);
});

test.each([
  ["seven days after its hold", -1, []],
  ["later than that", 0, ["m1: corrected in time"]],
])("a correction that was proposed in time is carried out %s", (_, late, expected) => {
  const world = openWorld({}, { resolution: { holdHours: 1, correctionHours: 2, approvals: 1 } });
  world.run(marketOf());
  world.run(settling);
  const correction: Command = { type: "correctMarket", marketId: "m1", outcome: "no", reason: "Misread" };
  const at = world.now;
  world.run({ ...correction, asked: { proposalId: "p1", by: "admin:ops", request: "{}", evidence: null } });
  world.wait(HOUR);
  const timely = workOf({ ...correction, proposed: { at, finalAt: world.now } }, "{}", () => null) as Work;
  world.run({ type: "executeProposal", proposalId: "p1", by: "admin:ops", work: timely });
  const elapsed = 7 * 24 * HOUR + late;
  const { log } = world;
  const moved = log.map((entry) =>
    ["market.corrected", "proposal.executed"].includes(entry.type) ? { ...entry, at: entry.at + elapsed } : entry,
  );
  // The settlement itself was carried out without a proposal.
  expect(found(moved)).toEqual(["market:m1: agreed to", ...expected]);
});

test("an execution of a rejected proposal is found", () => {
  const rejection = { type: "proposal.rejected", payload: { ...named, reason: "No" } as Entry["payload"] } as const;
  expect(after("proposal.approved", rejection)).toEqual(["market:m1: agreed to", "p1: status"]);
});

test("an execution by the server despite objections, one without its payment, and a repeated one are found", () => {
  expect(changed("proposal.executed", { actor: "oracle" })).toEqual(["p1: executed by the server despite objections"]);
  expect(without("market.settled")).toEqual(["p1: outcome", "p1: carried out with it"]);
  expect(after("proposal.executed", {})).toEqual(["p1: status"]);
});

test("a payment that went past the rules is found: a settlement, and a withdrawal", () => {
  const isOfProposal = ({ type }: Entry) => type.startsWith("proposal.");
  expect(findings((entry) => (isOfProposal(entry) ? [] : [entry]))).toEqual(["market:m1: agreed to"]);
  const world = settledWorld();
  world.run({ type: "requestWithdrawal", id: "w1", traderId: "ann", amountMicro: usd(11) });
  world.run({ type: "decideWithdrawal", id: "w1", traderId: "ann", approve: true });
  expect(found(world.log)).toEqual(["withdrawal:w1: agreed to"]);
});

test("a credit that went past the rules is found: without a proposal, too early, to another user, and paid twice", () => {
  const { log } = creditedWorld();
  const isPaid = ({ type, payload }: Entry) =>
    type === "wallet.credited" && "creditId" in payload && payload.creditId === "c2";
  const paid = (change: object) =>
    found(
      log.map((entry) => (isPaid(entry) ? ({ ...entry, payload: { ...entry.payload, ...change } } as Entry) : entry)),
    );
  expect(found(log)).toEqual([]);
  expect(found(log.filter(({ type }) => !type.startsWith("proposal.")))).toEqual(["credit:c2: agreed to"]);
  expect(found(log.filter(({ type }) => type !== "proposal.approved"))).toEqual([
    ...["credit:c2: agreed to", "p1: approvals missing"],
  ]);
  expect(paid({ userId: "bob" })).toEqual(["credit:c2: agreed to", "p1: carried out with it"]);
  expect(paid({ amount: "21.5" })).toEqual(["credit:c2: agreed to", "p1: carried out with it"]);
  expect(found(log.filter((entry) => !isPaid(entry)))).toEqual(["p1: carried out with it"]);
  const second = (entry: Entry) => ({ ...entry, payload: { ...entry.payload, creditId: "c9" } }) as Entry;
  expect(found(log.flatMap((entry) => (isPaid(entry) ? [second(entry), entry] : [entry])))).toEqual([
    "credit:c9: executes its proposal",
  ]);
});

test("another outcome than the proposed one, and terms milder than the rules, are found", () => {
  const world = settledWorld();
  const milder = world.log.map((entry) =>
    entry.type === "proposal.created"
      ? ({ ...entry, payload: { ...entry.payload, approvalsNeeded: 1, outcome: "no" } } as Entry)
      : entry,
  );
  expect(found(milder)).toEqual([
    ...["p1: approvalsNeeded", "p1: approvalsNeeded", "market:m1: agreed to"],
    "p1: outcome",
  ]);
});

test("an objection without a position, a repeated one, and one to a proposal that does not exist are found", () => {
  const payload = { ...named, userId: "bob", reason: "?", objections: 1 } as Entry["payload"];
  expect(changed("proposal.objected", { payload })).toEqual(["p1: objected by a user with a position"]);
  expect(after("proposal.objected", {})).toEqual(["p1: objected twice by a user", "p1: objections"]);
  const unknown = { ...payload, proposalId: "p9" } as Entry["payload"];
  expect(changed("proposal.objected", { payload: unknown })).toEqual(["p9: proposal"]);
});

test("a second proposal about a market beside the first is found", () => {
  const { log } = settledWorld();
  const created = log.find(({ type }) => type === "proposal.created");
  expect(canonicalJson((created?.payload ?? {}) as Json)).toContain('"proposalId":"p1"');
  const second = { payload: { ...created?.payload, proposalId: "p2" } as Entry["payload"] };
  expect(after("proposal.created", second)[0]).toBe("p2: waits beside");
});

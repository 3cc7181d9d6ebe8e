import { describe, expect, test } from "vitest";
import { canonicalJson, type Json } from "../../src/domain/audit/audit-link.ts";
import type { Work } from "../../src/engine/approvals/decisions.ts";
import type { Asked } from "../../src/engine/approvals/proposals.ts";
import { type Command, workOf } from "../../src/engine/commands.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { configOf, deepFreeze, marketOf, openWorld, tradeOf, usd, type World } from "./world.ts";

const HOUR = 3_600_000;

/** A tenant with a traded market, and these rules. */
function ruledWorld(rules: Json): World {
  const world = openWorld({ feeBps: 100, maxCreditUsd: 1e6 });
  const tenant = world.get("tenant", SINGLE);
  if (tenant) world.put("tenant", SINGLE, { ...tenant, document: canonicalJson(rules) });
  world.run(marketOf());
  for (const traderId of ["ann", "bob"]) world.fund(traderId, 1000);
  world.run(tradeOf({ traderId: "ann", side: "yes", amountMicro: usd(100) }));
  return world;
}

type Settlement = Command<"settleMarket">;
const settling: Settlement = { type: "settleMarket", marketId: "m1", outcome: "yes" };
let proposals = 0;

const askedBy = (by: string): Asked => {
  proposals += 1;
  return { proposalId: `prp_${proposals}`, by, request: "{}", evidence: null };
};

/** Proposes a command; the proposal's id. */
function propose(world: World, command: Command, by = "admin:ops"): string {
  const { result } = world.run({ ...command, asked: askedBy(by) } as Settlement);
  expect(result.proposal?.status).toBe("pending");
  return result.proposal?.id ?? "";
}

const workOn = (command: Command): Work => deepFreeze(workOf(command as Settlement, "{}", () => "done")) as Work;
const approval = (proposalId: string, by: string, command: Command = settling) =>
  ({ type: "approveProposal", proposalId, by, work: workOn(command) }) as const;
const execution = (proposalId: string, by: string, command: Command = settling) =>
  ({ type: "executeProposal", proposalId, by, work: workOn(command) }) as const;
const statusOf = (world: World, id: string) => world.get("proposal", id)?.status;

const TWO = { resolution: { approvals: 2 } };
const HELD = { resolution: { holdHours: 2 } };

describe("a command that needs other actors", () => {
  test("without such rules it is carried out at once", () => {
    const world = ruledWorld({});
    const { result } = world.run({ ...settling, asked: askedBy("admin:ops") });
    expect(result.payouts).toBe(1);
  });

  test("becomes a proposal that pays nothing and suspends the market; the last approval executes it", () => {
    const world = ruledWorld(TWO);
    const wallet = world.balance("wallet:ann");
    const id = propose(world, settling);
    expect([world.balance("wallet:ann"), world.get("marketState", "m1")?.status]).toEqual([wallet, "suspended"]);
    expect(world.refusal(approval(id, "admin:ops"))).toBe("ALREADY_APPROVED");
    world.run(approval(id, "admin:eve"));
    expect(world.get("marketState", "m1")?.status).toBe("settled");
    expect(world.get("proposal", id)).toMatchObject({ status: "executed", decidedBy: "admin:eve", result: '"done"' });
    expect(world.log.slice(-4).map(({ type }) => type)).toEqual([
      "market.suspended",
      "proposal.approved",
      "market.settled",
      "proposal.executed",
    ]);
    expect(world.refusal(approval(id, "admin:zoe"))).toBe("PROPOSAL_DECIDED");
    expect(world.refusal(execution(id, "admin:zoe"))).toBe("PROPOSAL_DECIDED");
  });

  test("keeps its result in the order in which the log says it", () => {
    const world = ruledWorld(TWO);
    const id = propose(world, settling);
    const work = workOf(settling, "{}", () => ({ status: "settled", id: "m1" })) as Work;
    world.run({ type: "approveProposal", proposalId: id, by: "admin:eve", work });
    expect(world.get("proposal", id)?.result).toBe('{"id":"m1","status":"settled"}');
  });

  test("is refused as it would be at once", () => {
    const world = ruledWorld(TWO);
    expect(world.refusal({ ...settling, asked: askedBy("admin:ops"), expect: { payouts: 7 } })).toBe(
      "EXPECTATION_NOT_MET",
    );
    expect(world.refusal({ ...settling, marketId: "none", asked: askedBy("admin:ops") })).toBe("MARKET_NOT_FOUND");
  });

  test("a second proposal about the market, and resuming it, wait until the first is decided", () => {
    const world = ruledWorld(TWO);
    const id = propose(world, settling);
    const voiding: Command = { type: "voidMarket", marketId: "m1", reason: "r", asked: askedBy("admin:eve") };
    expect(world.refusal(voiding)).toBe("PROPOSAL_PENDING");
    expect(world.refusal({ type: "resumeMarket", marketId: "m1" })).toBe("PROPOSAL_PENDING");
    world.run({ type: "rejectProposal", proposalId: id, by: "admin:eve", reason: "Wrong side" });
    expect([statusOf(world, id), world.get("marketState", "m1")?.status]).toEqual(["rejected", "suspended"]);
    world.run({ type: "resumeMarket", marketId: "m1" });
    expect(world.get("marketState", "m1")?.status).toBe("open");
  });

  test("the strictest of tenant, category and market counts", () => {
    const rules = { resolution: { approvals: 1, categories: { weather: { approvals: 3, holdHours: 1 } } } };
    const world = ruledWorld(rules);
    world.run(marketOf({ id: "m2", resolution: { holdHours: 5, approvals: 2 } }));
    world.run(marketOf({ id: "m3", category: "sports" }));
    const id = propose(world, { ...settling, marketId: "m2" });
    expect(world.get("proposal", id)).toMatchObject({ approvalsNeeded: 3, finalAt: world.now + 5 * HOUR });
    expect(world.run({ ...settling, marketId: "m3", asked: askedBy("admin:ops") }).result.payouts).toBe(0);
  });

  test("if the work is refused, the last approval counts and the proposal waits", () => {
    const world = ruledWorld({ approvals: { credit: { aboveUsd: 100, approvals: 2 } } });
    const credit: Command = { type: "creditWallet", id: "c1", traderId: "bob", amountMicro: usd(101) };
    const id = propose(world, credit);
    world.policy({ maxCreditUsd: 50 });
    world.run(approval(id, "admin:eve", credit));
    expect(world.get("proposal", id)).toMatchObject({ status: "pending", approvals: [{}, { by: "admin:eve" }] });
    expect(world.refusal(execution(id, "admin:zoe", credit))).toBe("MAX_CREDIT_EXCEEDED");
    world.policy({ maxCreditUsd: 500 });
    world.run(execution(id, "admin:zoe", credit));
    expect(world.balance("wallet:bob")).toBe(usd(1101));
  });

  test("an amount at the limit needs no other actor", () => {
    const world = ruledWorld({ approvals: { credit: { aboveUsd: 100, approvals: 2 } } });
    const credit = { type: "creditWallet", id: "c1", traderId: "bob", amountMicro: usd(100) } as const;
    expect(world.run({ ...credit, asked: askedBy("admin:ops") }).result.balanceMicro).toBe(usd(1100));
  });
});

describe("time to object", () => {
  test("a held command waits for its time, and then needs a person only if users object", () => {
    const world = ruledWorld(HELD);
    const id = propose(world, settling, "oracle");
    expect(world.refusal(execution(id, "oracle"))).toBe("HOLD_RUNNING");
    world.wait(2 * HOUR);
    world.run(execution(id, "oracle"));
    expect(statusOf(world, id)).toBe("executed");
  });

  test("an objection that comes between the sweep's look and its execution leaves the proposal to a person", () => {
    const world = ruledWorld(HELD);
    const id = propose(world, settling, "oracle");
    world.wait(2 * HOUR);
    world.run({ type: "objectToProposal", proposalId: id, marketId: "m1", traderId: "ann", reason: "It rained" });
    expect(world.refusal(execution(id, "oracle"))).toBe("APPROVALS_MISSING");
    world.run(execution(id, "admin:eve"));
    expect(statusOf(world, id)).toBe("executed");
  });

  test("only users with a position object, each once, and only while it waits", () => {
    const world = ruledWorld({ resolution: { holdHours: 2, approvals: 2 } });
    const id = propose(world, settling);
    const objection = (traderId: string) =>
      ({ type: "objectToProposal", proposalId: id, marketId: "m1", traderId, reason: "It rained" }) as const;
    expect(world.refusal(objection("bob"))).toBe("POSITION_REQUIRED");
    expect(world.run(objection("ann")).result.proposal.objections).toBe(1);
    expect(world.refusal(objection("ann"))).toBe("ALREADY_OBJECTED");
    world.wait(2 * HOUR);
    world.run(approval(id, "admin:eve"));
    expect(statusOf(world, id)).toBe("pending");
    world.run(execution(id, "admin:eve"));
    expect(world.refusal(objection("ann"))).toBe("PROPOSAL_DECIDED");
  });

  test("too few approvals are named after the hold", () => {
    const world = ruledWorld({ resolution: { holdHours: 1, approvals: 2 } });
    const id = propose(world, settling);
    expect(world.refusal(execution(id, "admin:ops"))).toBe("HOLD_RUNNING");
    world.wait(HOUR);
    expect(world.refusal(execution(id, "admin:ops"))).toBe("APPROVALS_MISSING");
  });
});

test("a correction that was proposed in time is carried out after its hold, although the time has passed, for seven days", () => {
  const world = ruledWorld({ resolution: { holdHours: 2, correctionHours: 3 } });
  world.run(settling);
  world.wait(2 * HOUR);
  const correction: Command = { type: "correctMarket", marketId: "m1", outcome: "no", reason: "Misread" };
  const id = propose(world, correction);
  const late = { ...correction, proposed: { at: world.now, finalAt: world.now + 2 * HOUR } };
  world.wait(2 * HOUR);
  expect(world.refusal(correction)).toBe("CORRECTION_CLOSED");
  world.wait(7 * 24 * HOUR);
  expect(world.refusal(execution(id, "admin:ops", late))).toBe("CORRECTION_CLOSED");
  world.wait(-1);
  world.run(execution(id, "admin:ops", late));
  expect(world.get("marketState", "m1")?.outcome).toBe("no");
});

describe("keys, policies and withdrawals", () => {
  test("a key is issued by its proposer alone, after the approvals", () => {
    const world = ruledWorld({ approvals: { key: { approvals: 2 } } });
    const key: Command = { type: "createKey", name: "ops2", keyType: "admin", hash: "h1", expiresAt: null };
    const id = propose(world, key);
    world.run(approval(id, "admin:eve", key));
    expect(statusOf(world, id)).toBe("pending");
    expect(world.refusal(execution(id, "admin:eve", key))).toBe("FORBIDDEN");
    world.run(execution(id, "admin:ops", key));
    expect(world.get("keyring", SINGLE)?.map(({ name }) => name)).toContain("ops2");
  });

  test("a patch that loosens waits as a whole; one that tightens does not", () => {
    const world = ruledWorld({ approvals: { loosen: { approvals: 2 } } });
    const patch = { maxTradeUsd: 2e6, feeBps: 50 };
    const id = propose(world, { type: "updatePolicy", patch });
    expect(world.get("tenant", SINGLE)?.policy.feeBps).toBe(100);
    world.run(approval(id, "admin:eve", { type: "updatePolicy", patch }));
    expect(world.get("tenant", SINGLE)?.policy).toMatchObject(patch);
    const tighter = { type: "updatePolicy", patch: { maxTradeUsd: 10 }, asked: askedBy("admin:ops") } as const;
    expect(world.run(tighter).result.policy?.maxTradeUsd).toBe(10);
  });

  test("a temporary patch that was agreed to becomes no permanent one, nor a longer one, without agreement", () => {
    const world = ruledWorld({ approvals: { loosen: { approvals: 2 } } });
    world.policy({ maxTradeUsd: 500 });
    const temporary: Command = { type: "updatePolicy", patch: { maxTradeUsd: 5000 }, ttlMs: HOUR };
    world.run(approval(propose(world, temporary), "admin:eve", temporary));
    const longer = propose(world, { ...temporary, ttlMs: 1000 * HOUR });
    world.run({ type: "rejectProposal", proposalId: longer, by: "admin:eve", reason: "No" });
    propose(world, { type: "updatePolicy", patch: { maxTradeUsd: 4999 } });
    expect(world.get("tenant", SINGLE)?.policy.maxTradeUsd).toBe(500);
  });

  test("a repeated approval of a withdrawal proposes nothing", () => {
    const world = ruledWorld({ approvals: { withdraw: { aboveUsd: 10, approvals: 2 } } });
    world.trader("bob");
    world.run({ type: "requestWithdrawal", id: "w1", traderId: "bob", amountMicro: usd(20) });
    const decision = { type: "decideWithdrawal", id: "w1", traderId: "bob", approve: true } as const;
    world.run(approval(propose(world, decision), "admin:eve", decision));
    const { result } = world.run({ ...decision, asked: askedBy("admin:ops") });
    expect(result).toMatchObject({ status: "approved" });
    expect(result).not.toHaveProperty("proposal");
  });

  test("rejecting a withdrawal needs no approvals and rejects the proposal to approve it", () => {
    const world = ruledWorld({ approvals: { withdraw: { aboveUsd: 10, approvals: 2 } } });
    world.trader("bob");
    world.run({ type: "requestWithdrawal", id: "w1", traderId: "bob", amountMicro: usd(20) });
    const decision = { type: "decideWithdrawal", id: "w1", traderId: "bob" } as const;
    const id = propose(world, { ...decision, approve: true });
    expect(world.get("withdrawal", "w1")?.status).toBe("pending");
    world.run({ ...decision, approve: false, by: "admin:eve", asked: askedBy("admin:eve") });
    expect([world.get("withdrawal", "w1")?.status, statusOf(world, id)]).toEqual(["rejected", "rejected"]);
    expect(world.balance("wallet:bob")).toBe(usd(1000));
  });
});

describe("an apply needs as many actors as its changes need alone", () => {
  const applied = (world: World, change: Partial<Command<"applyConfig">>): Command<"applyConfig"> => ({
    ...configOf({ policy: {}, document: world.get("tenant", SINGLE)?.document ?? "", ...change }),
    by: "admin:ops",
    inputSha256: "a".repeat(64),
  });
  const key = { name: "desk", type: "admin", hash: "h9", expiresAt: null } as const;

  test.each([
    ["a looser limit", { policy: { maxTradeUsd: 2e6 } }],
    [
      "fewer approvals",
      { document: canonicalJson({ approvals: { loosen: { approvals: 1 }, key: { approvals: 2 } } }) },
    ],
    ["a new key", { keys: [key] }],
  ] as const)("%s waits for another actor", (_, change) => {
    const world = ruledWorld({ approvals: { loosen: { approvals: 2 }, key: { approvals: 2 } } });
    const apply = applied(world, change as Partial<Command<"applyConfig">>);
    expect(world.refusal(apply)).toBe("APPROVALS_MISSING");
    const approvals = [{ sha256: "a".repeat(64), actor: "admin:eve", at: world.now }];
    world.put("planApprovals", "a".repeat(64), approvals);
    expect(world.refusal(apply)).toBe("accepted");
  });

  test("a tighter limit needs no other actor", () => {
    const world = ruledWorld({ approvals: { loosen: { approvals: 2 }, key: { approvals: 2 } } });
    expect(world.refusal(applied(world, { policy: { maxTradeUsd: 10 } }))).toBe("accepted");
  });
});

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { WireResult } from "../../src/contract/operations.ts";
import type { Json } from "../../src/domain/audit/audit-link.ts";
import { Fault } from "../../src/domain/fault.ts";
import { sweepProposals } from "../../src/services/proposals/proposals.ts";
import { anyMarket } from "../support/market.ts";
import { type Office, overDatabase, overHttp } from "./support/office.ts";

type Proposal = WireResult<"getProposal">;

/** Less than a second, so that a test can see both sides of the hold. */
const HELD = { resolution: { holdHours: 0.0002 } };
const RULES: Json = {
  resolution: {
    approvals: 2,
    correctionHours: 24,
    categories: { held: { holdHours: 0.0002 }, slow: { holdHours: 1 } },
  },
  approvals: {
    ...{ withdraw: { aboveUsd: 10, approvals: 2 }, credit: { aboveUsd: 100, approvals: 2 } },
    ...{ loosen: { approvals: 2 }, key: { approvals: 2 } },
  },
};

const code = (work: Promise<unknown>) =>
  work.then(
    (answer) => answer as never,
    (error: unknown) => {
      if (error instanceof Fault) return error.code;
      throw error;
    },
  );

/** An answer of a change that became a proposal. */
async function proposed(work: Promise<unknown>): Promise<Proposal> {
  const answer = (await work) as Proposal;
  expect(answer).toMatchObject({ proposalId: expect.stringMatching(/^prp_/), status: "pending", result: null });
  return answer;
}

const REASON = "The final report";

describe.each([
  ["db", overDatabase],
  ["http", overHttp],
] as const)("proposals over %s", (name, open) => {
  let office: Office;
  beforeAll(async () => {
    office = await open(RULES);
  });
  afterAll(() => office?.close());

  const api = () => office.as("ann_key");
  const eve = () => office.as("eve");
  const market = async (change: object = {}) => (await api().createMarket(anyMarket(change))).id;
  let users = 0;
  /** A market in which a user of its own has a position. */
  async function traded(change: object = {}) {
    const [id, user] = [await market(change), `usr_${++users}`];
    await office.tenant.deposit(user, 100);
    await office.user(user).placeTrade({ marketId: id, selection: { side: "yes" }, amount: 50 });
    return { id, user, balance: async () => (await api().getUser({ id: user })).balanceUsd };
  }
  const sweep = () => sweepProposals(office.tenant.services as never);

  test("a settlement pays nothing until another actor approves it, and answers all of it", async () => {
    const { id, balance } = await traded();
    const proposal = await proposed(api().settleMarket({ marketId: id, outcome: "yes", evidence: "page 3" }));
    expect(proposal).toMatchObject({
      ...{ kind: "settle", marketId: id, outcome: "yes", reason: null, evidence: "page 3" },
      ...{ proposedBy: "admin:ann_key", approvalsNeeded: 2, objections: 0, decidedBy: null, decidedAt: null },
      ...{ request: { operation: "settleMarket", marketId: id, outcome: "yes", evidence: "page 3" } },
      ...{ approvals: [{ by: "admin:ann_key", at: proposal.proposedAt }], finalAt: proposal.proposedAt },
    });
    expect([await balance(), (await api().getMarket({ id })).status]).toEqual([50, "suspended"]);
    expect(await code(api().approveProposal({ id: proposal.proposalId }))).toBe("ALREADY_APPROVED");
    expect(await code(api().executeProposal({ id: proposal.proposalId }))).toBe("APPROVALS_MISSING");
    expect(await api().getProposal({ id: proposal.proposalId })).toEqual(proposal);

    const done = await eve().approveProposal({ id: proposal.proposalId });
    expect(done).toMatchObject({ status: "executed", decidedBy: "admin:eve", result: { id, payoutsProcessed: 1 } });
    expect(await balance()).toBeGreaterThan(50);
    expect(await api().getProposal({ id: proposal.proposalId })).toEqual(done);
    for (const work of [
      () => office.as("zoe").approveProposal({ id: proposal.proposalId }),
      () => eve().executeProposal({ id: proposal.proposalId }),
      () => eve().rejectProposal({ id: proposal.proposalId, reason: REASON }),
    ])
      expect(await code(work())).toBe("PROPOSAL_DECIDED");
  });

  test("errors come in their order, and a second proposal and resuming wait for the first", async () => {
    const { id } = await traded();
    expect(await code(api().settleMarket({ marketId: "mkt_none", outcome: "yes" }))).toBe("MARKET_NOT_FOUND");
    expect(await code(api().settleMarket({ marketId: id, outcome: "yes", expectPayouts: 7 }))).toBe(
      "EXPECTATION_NOT_MET",
    );
    const { proposalId } = await proposed(api().voidMarket({ id, reason: REASON }));
    for (const work of [
      () => eve().voidMarket({ id, reason: REASON }),
      () => eve().settleMarket({ marketId: id, outcome: "no" }),
      () => eve().resumeMarket({ id }),
    ])
      expect(await code(work())).toBe("PROPOSAL_PENDING");
    expect(await code(eve().approveProposal({ id: "prp_none" }))).toBe("NOT_FOUND");
    expect(await code(eve().getProposal({ id: "prp_none" }))).toBe("NOT_FOUND");
    expect(await code(eve().rejectProposal({ id: proposalId, reason: "" }))).toBe("BAD_REQUEST");
    const rejected = await eve().rejectProposal({ id: proposalId, reason: "It was played" });
    expect(rejected).toMatchObject({ kind: "void", status: "rejected", decidedBy: "admin:eve", reason: REASON });
    expect((await api().getMarket({ id })).status).toBe("suspended");
    await api().resumeMarket({ id });
    const again = await proposed(api().voidMarket({ id, reason: REASON }));
    expect(await eve().approveProposal({ id: again.proposalId })).toMatchObject({
      ...{ status: "executed", result: { outcome: "void", refundedUsd: 50 } },
    });
  });

  test("a correction leaves the market as it is until it is approved", async () => {
    const { id } = await traded();
    const first = await proposed(api().settleMarket({ marketId: id, outcome: "no" }));
    await eve().approveProposal({ id: first.proposalId });
    // Who approves it sees what is owed then.
    const correction = { id, outcome: "yes", reason: REASON } as const;
    await expect(api().correctMarket({ ...correction, expectReceivablesUsd: 1 })).rejects.toThrow("owe 0 USD");
    const { proposalId } = await proposed(api().correctMarket({ ...correction, expectReceivablesUsd: 0 }));
    expect((await api().getProposal({ id: proposalId })).request).not.toHaveProperty("expectReceivablesUsd");
    expect(await api().getMarket({ id })).toMatchObject({ status: "settled", outcome: "no", corrections: [] });
    expect(await code(eve().approveProposal({ id: proposalId, expectReceivablesUsd: 1 }))).toBe("EXPECTATION_NOT_MET");
    expect((await api().getProposal({ id: proposalId })).approvals).toHaveLength(1);
    const seen = { id: proposalId, expectReceivablesUsd: 0 };
    expect(await eve().approveProposal(seen)).toMatchObject({ kind: "correct", status: "executed" });
    expect(await api().getMarket({ id })).toMatchObject({ outcome: "yes", corrections: [{ from: "no", to: "yes" }] });
  });

  test("a withdrawal stays pending; rejecting it rejects the proposal to approve it", async () => {
    await office.tenant.deposit("usr_w", 100);
    const asked = (amount: number) => office.user("usr_w").requestWithdrawal({ amount });
    const small = await asked(10);
    const isRestricted = { id: small.withdrawalId, expectRestricted: true };
    expect(await code(api().approveWithdrawal(isRestricted))).toBe("EXPECTATION_NOT_MET");
    const isFree = { ...isRestricted, expectRestricted: false };
    expect(await api().approveWithdrawal(isFree)).toMatchObject({ status: "approved" });
    const [first, second] = [await asked(20), await asked(30)];
    const { proposalId } = await proposed(api().approveWithdrawal({ id: first.withdrawalId }));
    expect(await code(eve().approveWithdrawal({ id: first.withdrawalId }))).toBe("PROPOSAL_PENDING");
    const { items } = await api().listWithdrawals({ status: "pending" });
    expect(items.map(({ amount }) => amount)).toEqual([30, 20]);
    expect(await eve().rejectWithdrawal({ id: first.withdrawalId })).toMatchObject({ status: "rejected" });
    expect(await api().getProposal({ id: proposalId })).toMatchObject({ status: "rejected", decidedBy: "admin:eve" });
    // Each who agrees says what they see.
    const { proposalId: id, ...other } = await proposed(
      api().approveWithdrawal({ id: second.withdrawalId, expectRestricted: false }),
    );
    expect(other.request).not.toHaveProperty("expectRestricted");
    await api().restrictUser({ id: "usr_w" });
    expect(await code(eve().approveProposal({ id, expectRestricted: false }))).toBe("EXPECTATION_NOT_MET");
    expect((await api().getProposal({ id })).approvals).toHaveLength(1);
    expect(await eve().approveProposal({ id, expectRestricted: true })).toMatchObject({
      ...{ kind: "withdraw", status: "executed", result: { status: "approved", amount: 30 } },
    });
  });

  test("a credit over the limit waits with its reason; the limit itself does not", async () => {
    await office.tenant.deposit("usr_c", 1);
    expect(await api().creditWallet({ id: "usr_c", amount: 100, reason: REASON })).toMatchObject({ balanceUsd: 101 });
    const { proposalId } = await proposed(api().creditWallet({ id: "usr_c", amount: 100.000001, reason: REASON }));
    expect(await code(office.as("settler").approveProposal({ id: proposalId }))).toBe("SCOPE_REQUIRED");
    expect(await office.as("payer").approveProposal({ id: proposalId })).toMatchObject({
      ...{ kind: "credit", status: "executed", result: { balanceUsd: 201.000001 } },
    });
    const [entry] = (await api().listAudit({ type: "wallet.credited", limit: 1 })).entries;
    expect(entry).toMatchObject({ actor: "admin:payer" });
  });

  test("a patch that loosens waits as a whole, and one that tightens does not", async () => {
    const { suitabilityRequired } = await api().getPolicy({});
    expect(await api().updatePolicy({ suitabilityRequired })).toMatchObject({ suitabilityRequired: false });
    const before = await api().getPolicy({});
    const { proposalId } = await proposed(api().updatePolicy({ maxTradeUsd: 200_000, feeBps: 50 }));
    expect(await api().getPolicy({})).toMatchObject({ maxTradeUsd: before.maxTradeUsd, feeBps: before.feeBps });
    expect(await code(office.as("payer").approveProposal({ id: proposalId }))).toBe("SCOPE_REQUIRED");
    expect(await eve().approveProposal({ id: proposalId })).toMatchObject({ kind: "loosen", status: "executed" });
    expect(await api().getPolicy({})).toMatchObject({ maxTradeUsd: 200_000, feeBps: 50 });
    expect(await api().updatePolicy({ maxTradeUsd: 100_000 })).toMatchObject({ maxTradeUsd: 100_000 });
  });

  test("a key's value is in the proposer's answer alone, never on record", async () => {
    const { proposalId } = await proposed(api().createKey({ name: `new${name}`, type: "admin" }));
    expect(await eve().approveProposal({ id: proposalId })).toMatchObject({ status: "pending", approvals: [{}, {}] });
    expect(await sweep()).toBe(0);
    expect(await code(eve().executeProposal({ id: proposalId }))).toBe("FORBIDDEN");
    const once = office.as("ann_key", `once ${name}`);
    const done = await once.executeProposal({ id: proposalId });
    const { key } = done.result as { key: string };
    expect(key).toMatch(/^sk_.{40}/);
    const repeated = await once.executeProposal({ id: proposalId });
    expect(repeated).toMatchObject({ status: "executed", result: { name: `new${name}`, key: null } });
    const shown = [await api().getProposal({ id: proposalId }), await api().listProposals({ kind: "key" })];
    expect(JSON.stringify(shown)).not.toContain(key);
    for (const table of ["audit", "proposal", "stored_answer", "api_key"]) {
      const rows = await office.tenant.sql`select t::text as text from ${office.tenant.sql(table)} t`;
      expect(rows.map(({ text }) => text).join("\n")).not.toContain(key);
    }
    // Once it has leaked, a new value would have to be agreed to; it can be ended at once.
    const leaked = { name: `new${name}`, type: "admin" } as const;
    await proposed(api().rotateKey({ ...leaked, leaked: true }));
    expect(await api().revokeKey(leaked)).toMatchObject({ ...leaked, revokedAt: expect.anything() });
    expect((await api().listKeys({})).filter((each) => each.name === leaked.name && each.active)).toEqual([]);
  });

  test("the public sees a market's proposal without its people, its request and its result", async () => {
    const { id, user } = await traded({ category: "slow" });
    expect(await code(office.visitor().getMarketProposal({ id }))).toBe("NOT_FOUND");
    expect(await code(office.visitor().getMarketProposal({ id: "mkt_none" }))).toBe("NOT_FOUND");
    const whole = await proposed(api().settleMarket({ marketId: id, outcome: "yes" }));
    const { request: _, result: __, proposedBy: ___, decidedBy: ____, ...open } = whole;
    expect(await office.visitor().getMarketProposal({ id })).toEqual({ ...open, approvals: 1 });
    const objection = (who: string) => office.user(who).objectToProposal({ id, reason: "It rained" });
    expect(await code(objection("usr_none"))).toBe("POSITION_REQUIRED");
    expect(await objection(user)).toEqual({ proposalId: whole.proposalId, objections: 1 });
    expect(await code(objection(user))).toBe("ALREADY_OBJECTED");
    expect(await code(eve().executeProposal({ id: whole.proposalId }))).toBe("HOLD_RUNNING");
    expect(await office.visitor().getMarketProposal({ id })).toMatchObject({ objections: 1 });
    await eve().rejectProposal({ id: whole.proposalId, reason: REASON });
    expect(await code(objection(user))).toBe("PROPOSAL_DECIDED");
    expect(await office.visitor().getMarketProposal({ id })).toMatchObject({ status: "rejected" });
  });

  test("the sweep executes what is approved after its hold, but not what users object to", async () => {
    const [plain, objected] = [await traded({ category: "held" }), await traded({ category: "held" })];
    const ids: string[] = [];
    for (const { id } of [plain, objected]) {
      const { proposalId } = await proposed(api().settleMarket({ marketId: id, outcome: "yes" }));
      ids.push(proposalId);
    }
    await office.user(objected.user).objectToProposal({ id: objected.id, reason: "It rained" });
    for (const id of ids) await eve().approveProposal({ id });
    await vi.waitFor(
      async () => {
        await sweep();
        expect((await api().getMarket({ id: plain.id })).status).toBe("settled");
      },
      { timeout: 20_000 },
    );
    expect(await api().getProposal({ id: ids[0] ?? "" })).toMatchObject({ decidedBy: "oracle", status: "executed" });
    expect(await api().getProposal({ id: ids[1] ?? "" })).toMatchObject({ status: "pending", objections: 1 });
    await vi.waitFor(() => eve().executeProposal({ id: ids[1] ?? "" }), { timeout: 20_000 });
    expect(await api().getProposal({ id: ids[1] ?? "" })).toMatchObject({ decidedBy: "admin:eve", status: "executed" });
  });

  test("lists filter by status, kind and market; a key without the scope reads but does not decide", async () => {
    const { id } = await traded();
    const { proposalId } = await proposed(api().settleMarket({ marketId: id, outcome: "yes" }));
    const reader = office.as("reader");
    expect((await reader.listProposals({ marketId: id, status: "pending", kind: "settle" })).items).toMatchObject([
      { proposalId },
    ]);
    expect((await reader.listProposals({ marketId: id, status: "executed" })).items).toEqual([]);
    const pages = await reader.listProposals({ limit: 2 });
    expect(pages.items.map((each) => each.proposalId)[0]).toBe(proposalId);
    const next = await reader.listProposals({ limit: 2, cursor: pages.nextCursor ?? undefined });
    expect(next.items.map((each) => each.proposalId)).not.toContain(proposalId);
    for (const other of ["reader", "payer"])
      for (const work of [
        () => office.as(other).approveProposal({ id: proposalId }),
        () => office.as(other).executeProposal({ id: proposalId }),
        () => office.as(other).rejectProposal({ id: proposalId, reason: REASON }),
      ])
        expect(await code(work())).toBe("SCOPE_REQUIRED");
    expect(await office.as("settler").approveProposal({ id: proposalId })).toMatchObject({ status: "executed" });
  });

  test("a reason and an end in the headers are the proposal's own", async () => {
    const { id } = await traded();
    const told = office.as("ann_key", undefined, { reason: REASON, policyTtlSec: 3600 });
    expect(await proposed(told.settleMarket({ marketId: id, outcome: "yes" }))).toMatchObject({ reason: REASON });
    const { proposalId, reason } = await proposed(told.updatePolicy({ maxTradeUsd: 300_000 }));
    expect(reason).toBe(REASON);
    await eve().approveProposal({ id: proposalId });
    const { overrides } = await api().getConfig({});
    expect(overrides).toMatchObject([{ field: "maxTradeUsd", value: 300_000 }]);
  });

  test("the ledger and the log agree with all of it", async () => {
    expect(await api().explainLedger({ failing: "true" })).toEqual([]);
    expect(await api().reconcile({ full: "true" })).toMatchObject({ ok: true });
    expect(await office.tenant.faults()).toEqual([]);
  });
});

test("a tenant without such rules answers each change as before", async () => {
  const office = await overHttp({});
  const api = office.as("eve");
  const id = (await api.createMarket(anyMarket({}))).id;
  await office.tenant.deposit("usr_1", 500);
  const { withdrawalId } = await office.user("usr_1").requestWithdrawal({ amount: 400 });
  expect(await api.approveWithdrawal({ id: withdrawalId })).toMatchObject({ status: "approved" });
  expect(await api.creditWallet({ id: "usr_1", amount: 900, reason: REASON })).toMatchObject({ balanceUsd: 1000 });
  expect(await api.updatePolicy({ maxTradeUsd: 300_000 })).toMatchObject({ maxTradeUsd: 300_000 });
  expect((await api.createKey({ name: "plain", type: "public" })).key).toMatch(/^pk_/);
  expect(await api.settleMarket({ marketId: id, outcome: "no" })).toMatchObject({ id, status: "settled" });
  expect((await api.listProposals({})).items).toEqual([]);
  await office.close();
});

test("a market's own rules make its end wait where the tenant has none", async () => {
  const office = await overDatabase({});
  const { id } = await office.as("eve").createMarket(anyMarket({ ...HELD }));
  const { proposalId, finalAt, proposedAt } = await proposed(
    office.as("eve").settleMarket({ marketId: id, outcome: "no" }),
  );
  expect(Date.parse(finalAt) - Date.parse(proposedAt)).toBe(720);
  await vi.waitFor(() => expect(sweepProposals(office.tenant.services as never)).resolves.toBe(1), { timeout: 20_000 });
  expect(await office.as("zoe").getProposal({ id: proposalId })).toMatchObject({ status: "executed" });
  await office.close();
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import type { Sql } from "../../src/postgres/connect.ts";
import { readDueIn } from "../../src/queries/due-work.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { sweepProposals } from "../../src/services/proposals/proposals.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../support/tenant.ts";

/** As long as a test needs to look before the hold is over. */
const HOLD_MS = 1500;
const HOUR_MS = 3_600_000;

let tenant: TestTenant;
beforeAll(async () => {
  const resolution = { categories: { held: { holdHours: HOLD_MS / HOUR_MS }, seen: { approvals: 2 } } };
  const money = { aboveUsd: 10, approvals: 2 };
  tenant = await openTestTenant({ processes: 2, rules: { resolution, approvals: { withdraw: money, credit: money } } });
});
afterAll(() => tenant.close());

function as(process: 0 | 1, actor = "admin:ops", user?: string): Api {
  const { handlers } = tenant.processes[process] ?? tenant.services;
  return localApi(handlers, { actor, user: user === undefined ? undefined : { id: user } });
}

/** A market in which the user holds what twenty dollars buy. */
async function heldMarket(category: string, user: string): Promise<string> {
  const marketId = await tenant.market({ category });
  await tenant.deposit(user, 20);
  await as(0, "admin:ops", user).placeTrade({ marketId, selection: { side: "yes" }, amount: 20 });
  return marketId;
}

const proposed = async (call: Promise<object>): Promise<string> => {
  const answer = await call;
  expect(answer).toMatchObject({ status: "pending", result: null });
  return (answer as { proposalId: string }).proposalId;
};
const types = async (id: string) => {
  const { entries } = await tenant.api().listAudit({ limit: 200 });
  return entries.filter(({ payload }) => JSON.stringify(payload).includes(id)).map(({ type }) => type);
};

test("two processes that sweep one due proposal at once execute it once; until then the tenant is due, and afterwards not for it", async () => {
  const before = await readDueIn(tenant.sql, []);
  const marketId = await heldMarket("held", "ann");
  const id = await proposed(as(0).settleMarket({ marketId, outcome: "yes", evidence: "The final report" }));
  const dueIn = (await readDueIn(tenant.sql, [])) ?? Number.POSITIVE_INFINITY;
  expect(dueIn).toBeLessThanOrEqual(HOLD_MS);
  expect(before === null || before > HOUR_MS).toBe(true);
  expect(await sweepProposals(tenant.services)).toBe(0);
  await expect
    .poll(async () => ((await readDueIn(tenant.sql, [])) ?? 1) <= 0, { timeout: 20_000, interval: 50 })
    .toBe(true);
  const swept = await Promise.all(tenant.processes.map((each) => sweepProposals(each)));
  expect(swept.toSorted()).toEqual([0, 1]);
  expect(await as(1).getProposal({ id })).toMatchObject({ status: "executed", decidedBy: "oracle" });
  expect((await types(id)).filter((type) => type === "proposal.executed")).toHaveLength(1);
  expect((await types(marketId)).filter((type) => type === "market.settled")).toHaveLength(1);
  expect((await readDueIn(tenant.sql, [])) ?? HOUR_MS).toBeGreaterThan(HOLD_MS);
  expect(await tenant.faults()).toEqual([]);
});

test("two approvers on two processes at once: both approvals count, and the market is paid once", async () => {
  const marketId = await heldMarket("seen", "bob");
  const id = await proposed(as(0).voidMarket({ id: marketId, reason: "Called off" }));
  const answers = await Promise.allSettled([
    as(0, "admin:eve").approveProposal({ id }),
    as(1, "admin:zoe").approveProposal({ id }),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(answers.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "PROPOSAL_DECIDED" } });
  expect(await as(1, "admin:ops", "bob").getWallet({})).toMatchObject({ balanceUsd: 20 });
  expect((await types(marketId)).filter((type) => type === "market.voided")).toHaveLength(1);
  expect(await tenant.faults()).toEqual([]);
});

test("a withdrawal, a credit and a rejected end leave a record that agrees with the tables", async () => {
  await tenant.deposit("cat", 50);
  const { withdrawalId } = await as(0, "admin:ops", "cat").requestWithdrawal({ amount: 30 });
  const out = await proposed(as(0).approveWithdrawal({ id: withdrawalId }));
  expect(await as(1, "admin:eve").approveProposal({ id: out })).toMatchObject({ status: "executed" });
  const credit = await proposed(as(1).creditWallet({ id: "cat", amount: 11, reason: "A gift", expectBalanceUsd: 20 }));
  // The balance that was expected when it was asked may have changed by its approval.
  expect((await as(0).getProposal({ id: credit })).request).not.toHaveProperty("expectBalanceUsd");
  await as(0, "admin:eve").approveProposal({ id: credit });
  expect(await as(1, "admin:ops", "cat").getWallet({})).toMatchObject({ balanceUsd: 31 });
  const marketId = await heldMarket("seen", "dan");
  const end = await proposed(as(0).settleMarket({ marketId, outcome: "no" }));
  await as(1, "admin:ops", "dan").objectToProposal({ id: marketId, reason: "It rained" });
  await as(1).rejectProposal({ id: end, reason: "The users are right" });
  expect(await tenant.faults()).toEqual([]);
});

test.each([
  ["a forged list of approvals", `update proposal set approvals = replace(approvals::text, 'admin:eve', 'admin:ops')`],
  ["a forged status", "update proposal set status = 'executed' where status = 'rejected'"],
  ["a forged number of approvals needed", "update proposal set approvals_needed = 1 where status = 'rejected'"],
  ["an objection that is gone", "delete from objection"],
  ["a proposal that is gone", "delete from proposal where status = 'rejected'"],
])("reconciliation finds %s", async (_, statement) => {
  const undone = new Error("undone");
  let found: string[] = [];
  const attempt = tenant.sql.begin(async (transaction) => {
    await transaction.unsafe(statement);
    const checks = await reconcileLedger(transaction as unknown as Sql, [auditKey(AUDIT_SECRET)]);
    found = checks.filter(({ differenceMicro }) => differenceMicro !== 0n).map(({ name }) => name);
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
  expect(found).toEqual(["decisions"]);
});

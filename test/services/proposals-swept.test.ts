import { afterAll, beforeAll, expect, test } from "vitest";
import { refusedOnce } from "../../src/app/serve/background-work.ts";
import { localApi } from "../../src/client/local-api.ts";
import { sweepProposals } from "../../src/services/proposals/proposals.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

/** As long as a test needs to propose two ends before the first hold is over. */
const HELD = { holdHours: 1500 / 3_600_000 };
/** More than one page of the sweep. */
const REFUSED = 101;

let tenant: TestTenant;
beforeAll(async () => {
  const approvals = { credit: { aboveUsd: 10, approvals: 2 } };
  tenant = await openTestTenant({
    rules: { resolution: { categories: { held: HELD, both: { approvals: 2 } } }, approvals },
  });
});
afterAll(() => tenant.close());

const statuses = async (ids: string[]) =>
  (await Promise.all(ids.map((id) => tenant.api().getProposal({ id })))).map(({ status }) => status);

const proposed = (answer: object) => (answer as { proposalId: string }).proposalId;

async function endOfHeldMarket(): Promise<string> {
  const marketId = await tenant.market({ category: "held" });
  return proposed(await tenant.api().settleMarket({ marketId, outcome: "yes" }));
}

test("a proposal that cannot be read delays no other, and the sweep reports it", async () => {
  const [broken, sound] = [await endOfHeldMarket(), await endOfHeldMarket()];
  const [{ request } = {}] = await tenant.sql`select request from proposal where id = ${broken}`;
  await tenant.sql`update proposal set request = '{}' where id = ${broken}`;
  await expect
    .poll(
      async () => {
        await sweepProposals(tenant.services).catch((error: unknown) => expect(error).toBeInstanceOf(TypeError));
        return statuses([broken, sound]);
      },
      { timeout: 20_000 },
    )
    .toEqual(["pending", "executed"]);
  await expect(sweepProposals(tenant.services)).rejects.toThrow(TypeError);
  await tenant.sql`update proposal set request = ${request} where id = ${broken}`;
  expect(await sweepProposals(tenant.services)).toBe(1);
  expect(await tenant.faults()).toEqual([]);
});

test("however many due proposals are refused, a later one is executed at once", async () => {
  await tenant.deposit("ann", 1);
  const eve = localApi(tenant.services.handlers, { actor: "admin:eve" });
  const credits = await Promise.all(
    Array.from({ length: REFUSED }, () => tenant.api().creditWallet({ id: "ann", amount: 20, reason: "A gift" })),
  );
  const ids = credits.map(proposed);
  await tenant.api().updatePolicy({ maxCreditUsd: 15 });
  await Promise.all(ids.map((id) => eve.approveProposal({ id })));
  const end = await endOfHeldMarket();
  const told: string[] = [];
  const onRefused = refusedOnce((text) => told.push(text));
  expect(await sweepProposals(tenant.services, undefined, onRefused)).toBe(0);
  expect(await sweepProposals(tenant.services, undefined, onRefused)).toBe(0);
  expect(told).toHaveLength(REFUSED);
  for (const id of ids)
    expect(told).toContainEqual(expect.stringContaining(`${id} is due and waits, because it is refused`));
  await expect.poll(() => sweepProposals(tenant.services), { timeout: 20_000 }).toBe(1);
  expect(await statuses([end])).toEqual(["executed"]);
  expect(new Set(await statuses(ids))).toEqual(new Set(["pending"]));
  expect(await tenant.faults()).toEqual([]);
});

test("an entry that a proposal causes has the proposal's reason, and an approver's reason is that of the approval", async () => {
  await tenant.deposit("dan", 1);
  const proposer = localApi(tenant.services.handlers, { actor: "admin:ops", reason: "goodwill" });
  const eve = localApi(tenant.services.handlers, { actor: "admin:eve", reason: "checked" });
  const id = proposed(await proposer.creditWallet({ id: "dan", amount: 12, reason: "goodwill" }));
  await eve.approveProposal({ id });
  const both = await tenant.market({ category: "both" });
  await eve.approveProposal({ id: proposed(await proposer.voidMarket({ id: both, reason: "broken" })) });
  const marketId = await tenant.market({ category: "held" });
  const voiding = proposed(await proposer.voidMarket({ id: marketId, reason: "called off" }));
  await expect.poll(() => sweepProposals(tenant.services), { timeout: 20_000 }).toBe(1);
  const { entries } = await eve.listAudit({ limit: 200 });
  const reasonOf = (type: string, ofId: string) =>
    entries.find(({ type: each, payload }) => each === type && JSON.stringify(payload).includes(ofId))?.payload.reason;
  expect([reasonOf("wallet.credited", '"dan"'), reasonOf("proposal.approved", id)]).toEqual(["goodwill", "checked"]);
  expect(reasonOf("market.voided", both)).toBe("broken");
  expect([reasonOf("market.voided", marketId), reasonOf("proposal.executed", voiding)]).toEqual([
    "called off",
    undefined,
  ]);
  expect(await tenant.faults()).toEqual([]);
});

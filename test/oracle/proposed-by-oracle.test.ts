import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { sweepProposals } from "../../src/services/proposals/proposals.ts";
import { openStage, type Stage } from "./stage.ts";

const SEC = 1000;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Lets the oracle propose that a market of a feed settles to yes. */
async function proposedBy(symbol: string, resolution: { holdHours?: number; approvals?: number }) {
  const { id, closeAt } = await stage.closedMarket(`acme:${symbol} > 800`, { resolution });
  stage.show("a", symbol, "810.5", closeAt - 2 * SEC);
  await stage.sweepAt(closeAt - SEC);
  stage.show("a", symbol, "999999", closeAt + 5 * SEC);
  const report = await stage.sweepAt(closeAt + 6 * SEC);
  expect(report).toMatchObject({ settled: [], held: [{ marketId: id, reason: "proposed" }], failures: [] });
  const { items } = await stage.scene.api().listProposals({ marketId: id });
  return { id, closeAt, proposal: items[0] };
}

test("the oracle proposes where a market's rules want time to object, and the sweep pays after it", async () => {
  const { id, closeAt, proposal } = await proposedBy("s0", { holdHours: 0.0003 });
  expect(proposal).toMatchObject({
    ...{ kind: "settle", outcome: "yes", proposedBy: "oracle", approvalsNeeded: 1, status: "pending" },
    evidence: { ref: "acme:s0", price: "810.5", strike: "800", observedAt: expect.any(String) },
  });
  const api = stage.scene.api();
  expect((await api.getMarket({ id })).status).toBe("closed");
  // Another sweep proposes nothing, and reports no failure.
  expect(await stage.sweepAt(closeAt + 7 * SEC)).toMatchObject({ settled: [], failures: [] });
  await vi.waitFor(() => expect(sweepProposals(stage.scene.services as never)).resolves.toBe(1), { timeout: 20_000 });
  expect(await api.getMarket({ id })).toMatchObject({ status: "settled", outcome: "yes" });
  expect(await api.getMarketProposal({ id })).toMatchObject({ status: "executed", approvals: 1 });
  expect(await stage.audit("oracle.resolved")).toMatchObject([{ marketId: id, price: "810.5" }]);
  expect(await api.explainLedger({ failing: "true" })).toEqual([]);
});

test("the oracle is the first approver, and a person the second", async () => {
  const { id, proposal } = await proposedBy("s1", { approvals: 2 });
  expect(proposal).toMatchObject({ approvals: [{ by: "oracle" }], approvalsNeeded: 2 });
  expect(await sweepProposals(stage.scene.services as never)).toBe(0);
  const done = await stage.scene.api().approveProposal({ id: proposal?.proposalId ?? "" });
  expect(done).toMatchObject({ status: "executed", decidedBy: "admin:ops" });
  expect((await stage.scene.api().getMarket({ id })).outcome).toBe("yes");
});

test("a proposal of the oracle that a person rejected is not made again", async () => {
  const { id, closeAt, proposal } = await proposedBy("s2", { holdHours: 1 });
  await stage.scene.api().rejectProposal({ id: proposal?.proposalId ?? "", reason: "The feed was wrong" });
  expect(await stage.sweepAt(closeAt + 8 * SEC)).toMatchObject({ settled: [], failures: [] });
  expect((await stage.scene.api().listProposals({ marketId: id })).items).toMatchObject([{ status: "rejected" }]);
});

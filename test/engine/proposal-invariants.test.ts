import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Table } from "../../src/engine/rows.ts";
import { Recomputation } from "../../src/replay/recomputation.ts";
import { runs } from "../domain/random.ts";
import { sealed } from "../replay/sealed-log.ts";
import { anyProposalStep, ProposalHistory } from "./proposal-histories.ts";
import type { World } from "./world.ts";

const balances = (world: World) => new Map(world.all("account").map(([id, { balanceMicro }]) => [id, balanceMicro]));

/** How often each proposal was decided, by the log. */
function decisions({ log }: World): Map<string, string[]> {
  const decided = new Map<string, string[]>();
  for (const { type, payload } of log)
    if (type === "proposal.executed" || type === "proposal.rejected") {
      const { proposalId } = payload as { proposalId: string };
      decided.set(proposalId, [...(decided.get(proposalId) ?? []), type.slice("proposal.".length)]);
    }
  return decided;
}

function checkProposals(world: World): void {
  const proposals = world.all("proposal").map(([, proposal]) => proposal);
  const waiting = proposals.filter(({ status }) => status === "pending").map(({ subject }) => subject);
  expect(new Set(waiting).size).toBe(waiting.length);
  const decided = decisions(world);
  for (const { id, status, kind, approvals, approvalsNeeded, finalAt, decidedAt, ...rest } of proposals) {
    expect(new Set(approvals.map(({ by }) => by)).size).toBe(approvals.length);
    expect(approvals[0]?.by).toBe(rest.proposedBy);
    expect(decided.get(id) ?? []).toEqual(status === "pending" ? [] : [status]);
    expect(world.all("objection").filter(([, each]) => each.proposalId === id)).toHaveLength(rest.objections);
    if (status !== "executed") continue;
    expect(approvals.length).toBeGreaterThanOrEqual(approvalsNeeded);
    expect(decidedAt).toBeGreaterThanOrEqual(finalAt);
    if (rest.objections > 0) expect(rest.decidedBy).not.toBe("oracle");
    if (kind === "key") expect(rest.decidedBy).toBe(rest.proposedBy);
  }
  for (const [id] of world.all("market")) {
    const ends = world.log.filter(
      ({ type, payload }) =>
        (type === "market.settled" || type === "market.voided") && "marketId" in payload && payload.marketId === id,
    );
    expect(ends).toHaveLength(world.get("marketState", id)?.status === "settled" ? 1 : 0);
  }
  expect([...balances(world).values()].reduce((sum, each) => sum + each, 0n)).toBe(0n);
}

const rowsOf = (pairs: Iterable<[string, object]>) =>
  new Map(
    [...pairs].map(([key, row]) => [key, { ...row, version: 0 }] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

const TABLES: Table[] = ["proposal", "objection", "planApproval", "account", "market", "marketState", "marketEnd"];

test("in any history a proposal moves money once and when executed, by distinct actors and in time, and the log alone gives its rows", () => {
  const executed = new Map<string, number>();
  let rejected = 0;
  fc.assert(
    fc.property(fc.array(anyProposalStep, { minLength: 30, maxLength: 80, size: "max" }), (steps) => {
      const history = new ProposalHistory();
      const { world } = history;
      const recomputation = new Recomputation();
      for (const step of steps) {
        const [before, entries] = [balances(world), world.log.length];
        history.run(step);
        const added = world.log.slice(entries).map(({ type }) => type);
        const isDone = added.includes("proposal.executed");
        const isOnlyAgreed = added.some((type) => type.startsWith("proposal.")) && !isDone;
        // Rejecting a withdrawal gives its amount back, and ends the proposal to pay it out.
        if (isOnlyAgreed && !added.includes("withdrawal.rejected")) expect(balances(world)).toEqual(before);
        checkProposals(world);
        recomputation.take(sealed(world.log, Number(recomputation.end.seq)));
        expect(recomputation.findings).toEqual([]);
        for (const table of TABLES)
          expect(rowsOf(recomputation.rows.of(table))).toEqual(rowsOf(world.all(table) as [string, object][]));
      }
      for (const [, { kind, status }] of world.all("proposal")) {
        if (status === "executed") executed.set(kind, (executed.get(kind) ?? 0) + 1);
        if (status === "rejected") rejected += 1;
      }
    }),
    runs(100),
  );
  expect([...executed.keys()].toSorted()).toEqual(["correct", "credit", "key", "loosen", "settle", "void", "withdraw"]);
  expect(rejected).toBeGreaterThan(50);
});

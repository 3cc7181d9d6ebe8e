import type { Input, Result } from "../../contract/operations.ts";
import { requireScopes } from "../../domain/access/scopes.ts";
import { SYSTEM_ACTOR } from "../../domain/audit/actors.ts";
import { Fault } from "../../domain/fault.ts";
import { PROPOSAL_SCOPES } from "../../domain/policy/proposal.ts";
import type { Decided } from "../../engine/approvals/decisions.ts";
import type { Proposal } from "../../engine/approvals/rows.ts";
import {
  type DueMark,
  findProposal,
  lastProposalOf,
  listDueProposals,
  listProposals,
} from "../../queries/proposals.ts";
import { requireUser, type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { marketProposalView, proposalView } from "./proposal-view.ts";
import { type Remade, remake } from "./work.ts";

/** Commands that wait for other actors or for their time. */
export function proposalHandlers(context: ServiceContext) {
  return {
    listProposals: (input) => list(context, input),
    getProposal: async ({ id }) => proposalView(await requireProposal(context, id)),
    approveProposal: (input, caller) => decide(context, "approveProposal", input, caller),
    executeProposal: (input, caller) => decide(context, "executeProposal", input, caller),
    rejectProposal: async ({ id: proposalId, reason }, caller) => {
      await requireProposal(context, proposalId, caller);
      const command = { type: "rejectProposal", proposalId, by: caller.actor, reason } as const;
      // The entry has the reason of the rejection.
      return submit(context, "rejectProposal", command, { ...caller, reason: undefined }, ({ proposal }) =>
        proposalView(proposal),
      );
    },
    getMarketProposal: async ({ id }) =>
      marketProposalView(known(await context.publicReads.read((sql) => lastProposalOf(sql, id)))),
    objectToProposal: async ({ id: marketId, reason }, caller) => {
      const last = known(await context.pool.read((sql) => lastProposalOf(sql, marketId)));
      const traderId = requireUser(caller).id;
      const command = { type: "objectToProposal", proposalId: last.id, marketId, traderId, reason } as const;
      return submit(context, "objectToProposal", command, { ...caller, reason: undefined }, ({ proposal }) => ({
        proposalId: proposal.id,
        objections: proposal.objections,
      }));
    },
  } satisfies Handlers;
}

async function list({ pool, cursors }: ServiceContext, input: Input<"listProposals">) {
  const { status, kind, marketId, limit } = input;
  const pages = cursors.list("listProposals", input);
  const [before] = pages.reached(["string"]) ?? [];
  const rows = await pool.read((sql) => listProposals(sql, { status, kind, marketId, before, limit: limit + 1 }));
  const { page, nextCursor } = pages.page(rows, limit, ({ id }) => [id]);
  return { items: page.map(proposalView), nextCursor };
}

function known(proposal: Proposal | undefined): Proposal {
  if (!proposal) throw new Fault("NOT_FOUND", "Proposal not found");
  return proposal;
}

/** @throws Fault NOT_FOUND, or SCOPE_REQUIRED for a caller that may not carry out its operation */
async function requireProposal({ pool }: ServiceContext, id: string, caller?: Caller): Promise<Proposal> {
  const proposal = known(await pool.read((sql) => findProposal(sql, id)));
  if (caller)
    requireScopes(caller.scopes, [PROPOSAL_SCOPES[proposal.kind]], `to decide about a proposal to ${proposal.kind}`);
  return proposal;
}

async function decide(
  context: ServiceContext,
  operation: "approveProposal" | "executeProposal",
  { id: proposalId, expectReceivablesUsd: expectReceivablesMicro, expectRestricted }: Input<"approveProposal">,
  caller: Caller,
) {
  const proposal = await requireProposal(context, proposalId, caller);
  const { work, answer } = await remake(context, proposal, caller, { expectReceivablesMicro, expectRestricted });
  const command = { type: operation, proposalId, by: caller.actor, work } as const;
  return submit(context, operation, command, caller, shownWith(answer), ({ proposal }) => proposalView(proposal));
}

/** The proposal with the result that its execution answered; what stays on record has no secrets. */
function shownWith(answer: Remade["answer"]) {
  return ({ proposal, result }: Decided): Result<"getProposal"> => ({
    ...proposalView(proposal),
    ...(result === undefined ? {} : { result: answer(result) as Result<"getProposal">["result"] }),
  });
}

/** The most proposals in memory at once. */
const PAGE = 100;

/**
 * Executes what waits for nothing but its time. A proposal whose work is refused waits on, and is tried again; it delays
 * no other.
 * @param signal ends the sweep before its next proposal
 * @param onRefused called with each refused proposal and the reason
 * @returns how many this sweep executed
 * @throws the last error that is no Fault, once all were tried
 */
export async function sweepProposals(
  context: ServiceContext,
  signal?: AbortSignal,
  onRefused: (proposal: Proposal, fault: Fault) => void = () => {},
): Promise<number> {
  const failures: unknown[] = [];
  let executed = 0;
  for (let after: DueMark | undefined; ; ) {
    const page = await context.pool.read((sql) => listDueProposals(sql, { after, limit: PAGE }));
    for (const proposal of page) {
      if (signal?.aborted) return executed;
      try {
        const { work } = await remake(context, proposal, { actor: SYSTEM_ACTOR });
        const command = { type: "executeProposal", proposalId: proposal.id, by: SYSTEM_ACTOR, work } as const;
        await context.sequencer.submit({ command, actor: SYSTEM_ACTOR });
        executed += 1;
      } catch (error) {
        if (error instanceof Fault) onRefused(proposal, error);
        else failures.push(error);
      }
    }
    after = page.at(-1);
    if (page.length < PAGE) break;
  }
  if (failures.length > 0) throw failures.at(-1);
  return executed;
}

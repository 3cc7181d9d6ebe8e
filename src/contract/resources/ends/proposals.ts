import { z } from "zod";
import { PROPOSAL_KINDS, PROPOSAL_STATES } from "../../../domain/policy/proposal.ts";
import { operationsUnder } from "../../operation.ts";
import { MarketId, Outcome, paging, Timestamp, text, UsdTotal } from "../../scalars.ts";

export const ProposalId = text(64).meta({ description: "The proposal's identifier.", examples: ["prp_019f2c6e10"] });
export const ProposalKind = z
  .enum(PROPOSAL_KINDS)
  .meta({ id: "ProposalKind", description: "What the proposal would do." });
export const ProposalState = z
  .enum(PROPOSAL_STATES)
  .meta({ id: "ProposalState", description: "Whether the proposal waits, or how it ended." });

/** What everyone may see of a proposal to end a market. */
const open = {
  proposalId: ProposalId,
  kind: ProposalKind,
  status: ProposalState,
  marketId: MarketId.nullable().describe("Null where it is not about a market."),
  outcome: Outcome.nullable().describe("The outcome that it would give the market."),
  reason: z.string().nullable(),
  evidence: z
    .json()
    .nullable()
    .describe("What the decision rests on: text, or of the oracle `ref`, `price`, `strike`, `observedAt`."),
  proposedAt: Timestamp,
  finalAt: Timestamp.describe("The earliest time of its execution."),
  approvalsNeeded: z.number().int().min(1).describe("How many actors must agree, the proposer among them."),
  objections: z.number().int().min(0).describe("How many users with a position object."),
  decidedAt: Timestamp.nullable(),
};

/** A command that waits for other actors, for its time, or for both. */
export const Proposal = z
  .object({
    ...open,
    request: z.record(z.string(), z.json()).describe("The operation and its input, which it would carry out."),
    proposedBy: z.string(),
    approvals: z.array(z.object({ by: z.string(), at: Timestamp })).describe("Who agrees, the proposer first."),
    decidedBy: z.string().nullable(),
    result: z.json().nullable().describe("What the operation answered; a key's value is in that answer alone."),
  })
  .meta({ id: "Proposal" });

/** What everyone may see of the last proposal about a market. */
export const MarketProposal = z
  .object({ ...open, approvals: z.number().int().min(1).describe("How many actors agree.") })
  .meta({ id: "MarketProposal" });

/**
 * The answer of a change that may wait for others: its own, or the proposal that it became. Typed as its own, which every
 * tenant without such rules gets; `isProposal` tells the other.
 */
export function orProposal<Answer extends z.ZodObject>(answer: Answer): Answer {
  return z.union([answer, Proposal]) as unknown as Answer;
}

/** The words of an operator or a user, such as a reason. */
export const Words = text(500).refine((words) => words.trim() !== "", "must not be blank");

const ProposalFilter = z.object({
  status: ProposalState.optional(),
  kind: ProposalKind.optional(),
  marketId: MarketId.optional(),
  ...paging,
});
const ProposalRef = z.object({ id: ProposalId });
export const ExpectRestricted = z
  .boolean()
  .optional()
  .describe("Only if the user of the withdrawal is restricted, or with false only if not.");
const Agreement = ProposalRef.extend({
  expectReceivablesUsd: UsdTotal.optional().describe(
    "Only if users come to owe exactly this much by the proposed correction, where this executes it.",
  ),
  expectRestricted: ExpectRestricted,
});
const MarketRef = z.object({ id: MarketId });

const { operatorRead, operatorChange, publicRead, userChange } = operationsUnder("operations", { extension: true });

export const proposalOperations = {
  listProposals: operatorRead({
    path: "/v1/proposals",
    summary: "List what waits for other actors or for its time, and what was decided, newest first.",
    input: ProposalFilter,
    output: z.array(Proposal),
    paged: true,
  }),
  getProposal: operatorRead({
    path: "/v1/proposals/:id",
    summary: "Get a proposal.",
    input: ProposalRef,
    output: Proposal,
  }),
  approveProposal: operatorChange("read", {
    path: "/v1/proposals/:id/approve",
    summary: "Agree to a proposal; the last approval executes it. Needs the scope of the proposed operation.",
    input: Agreement,
    output: Proposal,
    refusals: ["PROPOSAL_DECIDED", "ALREADY_APPROVED", "EXPECTATION_NOT_MET"],
  }),
  rejectProposal: operatorChange("read", {
    path: "/v1/proposals/:id/reject",
    summary: "End a proposal without its work. Needs the scope of the proposed operation.",
    input: ProposalRef.extend({ reason: Words }),
    output: Proposal,
    refusals: ["PROPOSAL_DECIDED"],
  }),
  executeProposal: operatorChange("read", {
    path: "/v1/proposals/:id/execute",
    summary:
      "Execute an approved proposal that users object to, or that issues a key. Needs the scope of the operation.",
    input: Agreement,
    output: Proposal,
    refusals: [
      ...(["PROPOSAL_DECIDED", "HOLD_RUNNING", "APPROVALS_MISSING"] as const),
      ...(["MARKET_SETTLED", "MARKET_SUSPENDED", "EXPECTATION_NOT_MET", "TREASURY_INSUFFICIENT"] as const),
    ],
    changes: "keys",
  }),
  getMarketProposal: publicRead({
    path: "/v1/markets/:id/proposal",
    summary: "Get the last proposal about a market's end.",
    input: MarketRef,
    output: MarketProposal,
  }),
  objectToProposal: userChange({
    path: "/v1/markets/:id/proposal/objections",
    summary:
      "Object to the waiting proposal about a market, as a user with a position: from then on only a person executes it.",
    onBehalf: "users",
    input: MarketRef.extend({ reason: Words }),
    output: z.object({ proposalId: ProposalId, objections: z.number().int().min(1) }).meta({ id: "Objection" }),
    refusals: ["PROPOSAL_DECIDED", "POSITION_REQUIRED", "ALREADY_OBJECTED"],
  }),
};

import { type Command, Option } from "commander";
import type { TenantSession } from "../../app/tenant/session.ts";
import { proposedWork, subjectsOf } from "../../client/inbox/proposed.ts";
import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import { PROPOSAL_KINDS, PROPOSAL_STATES } from "../../domain/policy/proposal.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { CommandContext, Io } from "../command.ts";
import { defineCommand, defineList, verbs } from "../define-command.ts";
import { marketToFilterBy, resolveId, shortIds } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import { requireReason } from "../input/prompts.ts";
import type { View } from "../output/output.ts";
import { proposalView, standingText, type ToldProposal } from "../output/proposal-view.ts";
import { instantColumn } from "../output/table.ts";
import { tellProposal } from "./proposal-fields.ts";

type Proposal = WireResult<"getProposal">;
type Filter = Omit<WireInput<"listProposals">, "limit" | "cursor" | "marketId"> & { market?: string };

export const proposalList = defineList({
  name: "list",
  summary: "list what waits for other actors or for its time, and what was decided, newest first",
  takes: (command) =>
    command
      .addOption(new Option("--status <status>", "only this status").choices(PROPOSAL_STATES))
      .addOption(new Option("--kind <kind>", "only this kind").choices(PROPOSAL_KINDS))
      .option("--market <id>", "only about this market: its id, an id prefix, its key or @last", identifier),
  operation: "listProposals",
  input: async ({ options: { status, kind, market } }: CommandContext<Filter>, api, session) => ({
    status,
    kind,
    marketId: await marketToFilterBy(market, api, session),
  }),
  view: listView,
});

/** Rows name what each proposal is about, which takes a request more. */
async function listView(
  proposals: readonly Proposal[],
  api: Api,
  { output }: Io,
): Promise<View<readonly Proposal[], Proposal>> {
  const isTable = output.format === "table";
  const ids = proposals.map(({ proposalId }) => proposalId);
  const [subjects, short] = await Promise.all([
    isTable ? subjectsOf(proposals, api) : undefined,
    isTable ? shortIds("proposal", ids, api) : new Map<string, string>(),
  ]);
  return {
    kind: "list",
    rows: (rows) => rows,
    columns: [
      { title: "PROPOSAL", cell: ({ proposalId }) => short.get(proposalId) ?? proposalId, whole: true },
      { title: "TO", cell: (proposal) => proposedWork(proposal, subjects), wraps: true },
      { title: "STANDING", cell: standingText, wraps: true, least: 20 },
      { title: "BY", cell: ({ proposedBy }) => proposedBy, optional: true },
      instantColumn("SINCE", ({ proposedAt }) => proposedAt, { optional: true }),
    ],
    empty: "No proposals.",
  };
}

const theProposal = {
  takes: (command: Command) => command.argument("<id>", "the proposal: its id, or an id prefix", identifier),
  input: async ({ args: [id = ""] }: CommandContext<object>, api: Api, session: TenantSession) => ({
    id: await resolveId("proposal", id, api, session),
  }),
};

/** What is proposed as a person must know it; programs get the proposal itself. */
async function shown(proposal: Proposal, api: Api, { output }: Io): Promise<View<Proposal, Proposal>> {
  if (output.format !== "table") return proposalView;
  return (await tellProposal(proposal, api, { recorded: true })).view;
}

/** Shows what is proposed, before a question about it. @returns what it would do, in words */
async function explained(id: string, api: Api, { output }: Io): Promise<{ work: string; proposal: Proposal }> {
  const proposal = await api.getProposal({ id });
  const { work, view } = await tellProposal(proposal, api, { recorded: false });
  output.explain(proposal, view satisfies ToldProposal);
  return { work, proposal };
}

export const proposalShow = defineCommand({
  ...theProposal,
  name: "show",
  summary: "show a proposal: what it would do, who agrees, who objects, and what it still waits for",
  operation: "getProposal",
  view: shown,
});

export const proposalApprove = defineCommand({
  ...theProposal,
  name: "approve",
  summary: "agree to a proposal; the last approval carries it out",
  operation: "approveProposal",
  asks: async ({ id }, api, io) => {
    const { work, proposal } = await explained(id, api, io);
    return `${work}: approve it${isLastStep(proposal) ? ", and so carry it out" : ""}?`;
  },
  view: shown,
});

/** Whether one approval more carries a proposal out. */
function isLastStep({ kind, approvals, approvalsNeeded, objections, finalAt }: Proposal): boolean {
  const isByHand = objections > 0 || kind === "key";
  return !isByHand && approvals.length + 1 >= approvalsNeeded && Date.parse(finalAt) <= wallClockMs();
}

export const proposalExecute = defineCommand({
  ...theProposal,
  name: "execute",
  summary: "carry out an approved proposal to which users object, or that issues a key",
  operation: "executeProposal",
  asks: async ({ id }, api, io) => `${(await explained(id, api, io)).work}: execute it?`,
  view: shown,
});

export const proposalReject = defineCommand({
  ...theProposal,
  name: "reject",
  summary: "end a proposal without doing what it says; --reason says why",
  operation: "rejectProposal",
  reasonFor: "The rejection of a proposal",
  input: async (context: CommandContext<{ reason?: string }>, api, session) => ({
    ...(await theProposal.input(context, api, session)),
    reason: requireReason(context.options, "The rejection of a proposal"),
  }),
  asks: async ({ id }, api, io) => `${(await explained(id, api, io)).work}: reject it?`,
  view: shown,
});

const proposalObject = defineCommand({
  name: "object",
  summary: "object to the waiting proposal about a market on a user's behalf; --reason says why",
  takes: (command) =>
    command
      .argument("<market>", "the market: its id, an id prefix, its key or @last", identifier)
      .requiredOption("--user <id>", "the user, who holds shares of it", identifier),
  operation: "objectToProposal",
  reasonFor: "An objection",
  input: async ({ args: [market = ""], options }: CommandContext<{ user: string; reason?: string }>, api, session) => ({
    id: (await marketToFilterBy(market, api, session)) ?? "",
    reason: requireReason(options, "An objection"),
  }),
  onBehalfOf: ({ user }) => user,
  ofKnownUser: true,
  fields: ({ proposalId, objections }) => [
    ["proposal", proposalId],
    ["objections", String(objections)],
  ],
});

export const register = verbs(
  proposalList,
  proposalShow,
  proposalApprove,
  proposalReject,
  proposalExecute,
  proposalObject,
);

import { Option } from "commander";
import type { WireInput, WireResult } from "../../contract/operations.ts";
import { PROPOSAL_KINDS, PROPOSAL_STATES } from "../../domain/policy/proposal.ts";
import type { CommandContext } from "../command.ts";
import { defineCommand, defineList, verbs } from "../define-command.ts";
import { marketToFilterBy } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import { requireReason } from "../input/prompts.ts";
import { proposalView, standingText, workText } from "../output/proposal-view.ts";
import { instantColumn } from "../output/table.ts";

type Proposal = WireResult<"getProposal">;
type Filter = Omit<WireInput<"listProposals">, "limit" | "cursor" | "marketId"> & { market?: string };

const proposalList = defineList({
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
  columns: [
    { title: "PROPOSAL", cell: ({ proposalId }) => proposalId, whole: true },
    { title: "TO", cell: workText },
    { title: "STANDING", cell: standingText },
    { title: "BY", cell: ({ proposedBy }) => proposedBy, optional: true },
    instantColumn("SINCE", ({ proposedAt }: Proposal) => proposedAt, { optional: true }),
  ],
  empty: "No proposals.",
});

const proposalShow = defineCommand({
  name: "show",
  summary: "show a proposal: what it would do, who agrees, and what it still waits for",
  takes: (command) => command.argument("<id>", "the proposal", identifier),
  operation: "getProposal",
  input: ({ args: [id = ""] }) => ({ id }),
  view: () => proposalView,
});

/** A decision about a proposal. */
const decision = (name: "approve" | "execute", operation: "approveProposal" | "executeProposal", summary: string) =>
  defineCommand({
    name,
    summary,
    takes: (command) => command.argument("<id>", "the proposal", identifier),
    operation,
    input: ({ args: [id = ""] }) => ({ id }),
    asks: async ({ id }, api) => `${workText(await api.getProposal({ id }))}: ${name} it?`,
    view: () => proposalView,
  });

const proposalReject = defineCommand({
  name: "reject",
  summary: "end a proposal without doing what it says; --reason says why",
  takes: (command) => command.argument("<id>", "the proposal", identifier),
  operation: "rejectProposal",
  reasonFor: "The rejection of a proposal",
  input: ({ args: [id = ""], options }: CommandContext<{ reason?: string }>) => ({
    id,
    reason: requireReason(options, "The rejection of a proposal"),
  }),
  asks: async ({ id }, api) => `${workText(await api.getProposal({ id }))}: reject it?`,
  view: () => proposalView,
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
  decision("approve", "approveProposal", "agree to a proposal; the last approval carries it out"),
  proposalReject,
  decision("execute", "executeProposal", "carry out an approved proposal to which users object, or that issues a key"),
  proposalObject,
);

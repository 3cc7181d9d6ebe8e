import { encode } from "../../contract/encode.ts";
import { type Input, type OperationId, operations, type Result } from "../../contract/operations.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import type { Asked } from "../../engine/approvals/proposals.ts";
import type { Proposal } from "../../engine/approvals/rows.ts";
import type { Agreed, Command, Results } from "../../engine/commands.ts";
import { encodeResult } from "../answers.ts";
import { type ServiceContext, submit } from "../context.ts";
import type { Answered, Caller } from "../invoke.ts";
import { proposalView } from "./proposal-view.ts";

/** The operations that the tenant's rules may make wait. */
export type GovernedId =
  | ("settleMarket" | "voidMarket" | "correctMarket" | "approveWithdrawal" | "creditWallet")
  | ("updatePolicy" | "createKey" | "rotateKey");

type Governed = Extract<Command, { asked?: Asked | undefined }>;

/** A command made of a request, and its answer once it is carried out. */
export interface Prepared<Id extends GovernedId, C extends Governed = Governed> {
  command: C;
  answer: (result: Agreed<C["type"]>) => Result<Id>;
  /** The answer to repeats of the request, and the one on record, if the first holds a secret. */
  repeated?: ((result: Agreed<C["type"]>) => Result<Id>) | undefined;
}

/** Keeps the type of a command with that of its answers. */
export const prepared = <Id extends GovernedId, C extends Governed>(each: Prepared<Id, C>): Prepared<Id, C> => each;

/** Sends a command that may become a proposal through the sequencer; the answer is its own, or the proposal. */
export function submitGoverned<Id extends GovernedId, C extends Governed>(
  context: ServiceContext,
  id: Id,
  input: Input<Id>,
  { command, answer, repeated }: Prepared<Id, C>,
  caller: Caller,
): Promise<Answered> {
  const said = (view: typeof answer) => (result: Results[C["type"]]) => {
    const { proposal } = result as { proposal?: Proposal };
    return (proposal ? proposalView(proposal) : view(result as Agreed<C["type"]>)) as Result<Id>;
  };
  const asked: Asked = {
    proposalId: context.newId("prp"),
    by: caller.actor,
    request: requestText(id, input, caller.policyTtlMs),
    evidence: evidenceIn(input),
    reason: caller.reason,
  };
  return submit(context, id, { ...command, asked } as C, caller, said(answer), repeated && said(repeated));
}

/** What of an executed command stays on record: its answer without secrets. */
export function keptOf<Id extends GovernedId, C extends Governed>(
  id: Id,
  { answer, repeated }: Prepared<Id, C>,
): (result: Results[C["type"]]) => Json {
  return (result) =>
    JSON.parse(JSON.stringify(encodeResult(id, (repeated ?? answer)(result as Agreed<C["type"]>)))) as Json;
}

/**
 * The operation and its input in wire form, from which the command is made again.
 * @param policyTtlMs how long a change of the policy lasts; undefined for a permanent one
 */
export function requestText<Id extends OperationId>(id: Id, input: Input<Id>, policyTtlMs?: number): string {
  const { wire } = encode(operations[id].input, input);
  return canonicalJson(JSON.parse(JSON.stringify({ ...(wire as object), operation: id, policyTtlMs })) as Json);
}

function evidenceIn(input: object): string | null {
  return "evidence" in input && typeof input.evidence === "string" ? JSON.stringify(input.evidence) : null;
}

import type { Input, OperationId, Result } from "../../contract/operations.ts";
import type { Json } from "../../domain/audit/audit-link.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import type { Work } from "../../engine/approvals/decisions.ts";
import type { Proposal } from "../../engine/approvals/rows.ts";
import { type Command, workOf } from "../../engine/commands.ts";
import type { OracleEvidence } from "../../engine/oracle.ts";
import { encodeResult } from "../answers.ts";
import { preparedPolicy } from "../configuration/policy.ts";
import type { ServiceContext } from "../context.ts";
import { type Caller, decodeInput } from "../invoke.ts";
import { preparedKey, preparedRotation } from "../keys.ts";
import { preparedCorrection, preparedSettlement, preparedVoid } from "../markets/ends.ts";
import { preparedApproval, preparedCredit } from "../traders/wallets.ts";
import { type GovernedId, keptOf, type Prepared } from "./governed.ts";

/** The work of a proposal, and its answer in wire form. */
export interface Remade {
  work: Work;
  answer: (result: unknown) => Json;
}

/** What its caller saw that a proposal's work would do; anything else is refused. */
export interface Seen {
  /** What users come to owe by a correction. */
  expectReceivablesMicro?: bigint | undefined;
  /** Whether the user of a withdrawal is restricted. */
  expectRestricted?: boolean | undefined;
}

/**
 * Makes the command of a proposal again from its request. Its scopes were checked when it was proposed; those for a key
 * are checked again, since who executes it learns the value.
 * @param caller who executes it
 */
export async function remake(
  context: ServiceContext,
  proposal: Proposal,
  caller: Caller,
  seen: Seen = {},
): Promise<Remade> {
  const { operation, oracle, policyTtlMs: ttlMs, ...input } = JSON.parse(proposal.request) as { [field: string]: Json };
  const id = operation as GovernedId;
  // The span and the version that an approver names are not what was proposed.
  const policyTtlMs = typeof ttlMs === "number" ? ttlMs : undefined;
  const scopes = proposal.kind === "key" ? caller.scopes : undefined;
  const maker = { ...caller, scopes, ifMatch: undefined, policyTtlMs };
  const { command, ...rest } = await preparedFor(context, { id, input, oracle, proposal, seen }, maker);
  const made = { command, ...rest } as Prepared<GovernedId, Command<"settleMarket">>;
  return {
    work: {
      ...(workOf(made.command, proposal.request, keptOf(id, made)) as Work),
      isBound: Object.values(seen).some((each) => each !== undefined),
    },
    answer: (result) =>
      JSON.parse(JSON.stringify(encodeResult(id, made.answer(result as never) as Result<GovernedId>))) as Json,
  };
}

interface Asked {
  id: GovernedId;
  input: { [field: string]: Json };
  /** Of the oracle's own proposal. */
  oracle: Json | undefined;
  proposal: Proposal;
  seen: Seen;
}

async function preparedFor(context: ServiceContext, { id, input, oracle, proposal, seen }: Asked, caller: Caller) {
  const decoded = <Id extends OperationId>(each: Id) => decodeInput(each, input) as Input<Id>;
  switch (id) {
    case "settleMarket": {
      const settlement = preparedSettlement(decoded("settleMarket"));
      if (!isMapping(oracle)) return settlement;
      return { ...settlement, command: { ...settlement.command, oracle: oracle as unknown as OracleEvidence } };
    }
    case "voidMarket":
      return preparedVoid(decoded("voidMarket"));
    case "correctMarket": {
      const correction = preparedCorrection(decoded("correctMarket"));
      const proposed = { at: proposal.proposedAt, finalAt: proposal.finalAt };
      return {
        ...correction,
        command: { ...correction.command, expectReceivablesMicro: seen.expectReceivablesMicro, proposed },
      };
    }
    case "approveWithdrawal":
      return preparedApproval(
        context,
        { ...decoded("approveWithdrawal"), expectRestricted: seen.expectRestricted },
        caller,
      );
    case "creditWallet":
      return preparedCredit(context, decoded("creditWallet"));
    case "updatePolicy":
      return preparedPolicy(context, decoded("updatePolicy"), caller);
    case "createKey":
      return preparedKey(decoded("createKey"), caller);
    case "rotateKey":
      return preparedRotation(context, decoded("rotateKey"), caller);
  }
}

import type { Json } from "../domain/audit/audit-link.ts";
import { endConsole, openConsole } from "./access/console.ts";
import { createKey, endLeaked, revokeKey, rotateKey } from "./access/keys.ts";
import {
  approveProposal,
  executeProposal,
  objectToProposal,
  rejectProposal,
  type Work,
} from "./approvals/decisions.ts";
import { approvePlan } from "./approvals/plans.ts";
import type { Proposal } from "./approvals/rows.ts";
import type { CommandKind } from "./command.ts";
import { Draft, type Reader } from "./draft.ts";
import { correctMarket } from "./ends/correction.ts";
import { settleMarket, voidMarket } from "./ends/settlement.ts";
import { creditWallet, debitWallet, decideWithdrawal, recordDeposit, requestWithdrawal } from "./funding.ts";
import { acceptFinding, acceptRollback, recordAct, recordReconciliation, recordRestore } from "./integrity.ts";
import { clarifyMarket, closeMarket, createMarket, resumeMarket, suspendMarket } from "./markets.ts";
import { holdMarket } from "./oracle.ts";
import { recordPayment } from "./payments.ts";
import { endOverrides, updatePolicy } from "./policy.ts";
import type { Need } from "./rows.ts";
import { applyConfig, freezeConfig, unfreezeConfig } from "./tenant.ts";
import { placeTrade, sellShares } from "./trade.ts";
import { endSession, recordKyc, restrictUser, revokeUser, submitSuitability } from "./traders.ts";
import { keepWebhook } from "./webhooks/arrived.ts";

/** Every kind of command. To add a kind, add an object in the file of its topic, and its name here. */
const KINDS = {
  placeTrade,
  sellShares,
  submitSuitability,
  restrictUser,
  revokeUser,
  endSession,
  creditWallet,
  debitWallet,
  requestWithdrawal,
  decideWithdrawal,
  createMarket,
  suspendMarket,
  resumeMarket,
  settleMarket,
  voidMarket,
  correctMarket,
  approveProposal,
  rejectProposal,
  executeProposal,
  objectToProposal,
  closeMarket,
  clarifyMarket,
  holdMarket,
  updatePolicy,
  endOverrides,
  recordKyc,
  recordDeposit,
  recordPayment,
  keepWebhook,
  recordReconciliation,
  recordAct,
  acceptFinding,
  acceptRollback,
  recordRestore,
  applyConfig,
  approvePlan,
  freezeConfig,
  unfreezeConfig,
  createKey,
  rotateKey,
  revokeKey,
  endLeaked,
  openConsole,
  endConsole,
};

type Kinds = typeof KINDS;
type Type = keyof Kinds;

/** The fields of each kind's commands. */
type Commands = { [T in Type]: Parameters<Kinds[T]["decide"]>[1] & { type: T } };

export type Command<T extends Type = Type> = Commands[T];

/** The result of each command. */
export type Results = { [T in Type]: ReturnType<Kinds[T]["decide"]> };

/** The result of a command that did not become a proposal. */
export type Agreed<T extends Type> = Exclude<Results[T], { proposal: Proposal }>;

/** The kinds by type. */
const COMMANDS: { readonly [T in Type]: CommandKind<Commands[T], Results[T]> } = KINDS;

/** The rows that a command may read, to be loaded before the command executes. */
export function needsOf<T extends Type>(command: Command<T>): Need[] {
  return COMMANDS[command.type].needs(command);
}

/** The work of a proposal: a command that was agreed on. @param kept what of its result stays on record */
export function workOf<C extends Command>(
  command: C,
  request: string,
  kept: (result: Results[C["type"]]) => Json,
): Work<Results[C["type"]]> {
  // The kind of a command's own type decides it, which the compiler cannot follow through the mapped type.
  const kind = COMMANDS[command.type] as unknown as CommandKind<C, Results[C["type"]]>;
  return {
    request,
    needs: kind.needs(command),
    decide: (draft, now) => kind.decide(draft, command, now),
    kept,
  };
}

/** Whether a command shares its commit with no other command. */
export function needsOwnBatch({ type }: Command): boolean {
  return COMMANDS[type].ownBatch === true;
}

/** A command's result, and everything that must be committed for the result to be true. */
export interface Decision {
  result: Results[Command["type"]];
  draft: Draft;
}

/**
 * Decides one command. Pure: it reads `state`, never changes it, and knows only the given time.
 * @param now milliseconds since the epoch by the database's clock; the decision depends on it alone
 * @param ts the time of the audit entries in milliseconds since the epoch: `now`, or later if the clock moved back
 * @throws Fault if the command is refused; then nothing is committed
 */
export function execute<T extends Command["type"]>(
  state: Reader,
  command: Command<T>,
  now: number,
  ts: number,
): Decision {
  const draft = new Draft(state, ts);
  return { result: COMMANDS[command.type].decide(draft, command, now), draft };
}

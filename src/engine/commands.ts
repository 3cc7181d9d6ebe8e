import { keepAnswer, keepWebhook } from "./arrived-webhooks.ts";
import type { CommandKind } from "./command.ts";
import { Draft, type Reader } from "./draft.ts";
import { creditWallet, debitWallet, decideWithdrawal, recordDeposit, requestWithdrawal } from "./funding.ts";
import { acceptFinding, acceptRollback, recordReconciliation, recordRestore } from "./integrity.ts";
import { createKey, endLeaked, revokeKey, rotateKey } from "./keys.ts";
import { closeMarket, createMarket, resumeMarket, suspendMarket } from "./markets.ts";
import { holdMarket } from "./oracle.ts";
import { recordPayment } from "./payments.ts";
import { endOverrides, updatePolicy } from "./policy.ts";
import type { Need } from "./rows.ts";
import { settleMarket } from "./settlement.ts";
import { applyConfig, freezeConfig, unfreezeConfig } from "./tenant.ts";
import { placeTrade, sellShares } from "./trade.ts";
import { endSession, recordKyc, restrictUser, revokeUser, submitSuitability } from "./traders.ts";

/** Every kind of command. A new one is an object in the file of its topic, and its name here. */
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
  closeMarket,
  holdMarket,
  updatePolicy,
  endOverrides,
  recordKyc,
  recordDeposit,
  recordPayment,
  keepWebhook,
  keepAnswer,
  recordReconciliation,
  acceptFinding,
  acceptRollback,
  recordRestore,
  applyConfig,
  freezeConfig,
  unfreezeConfig,
  createKey,
  rotateKey,
  revokeKey,
  endLeaked,
};

type Kinds = typeof KINDS;
type Type = keyof Kinds;

/** The fields of each kind's commands. */
type Commands = { [T in Type]: Parameters<Kinds[T]["decide"]>[1] & { type: T } };

export type Command<T extends Type = Type> = Commands[T];

/** What each command resolves to. */
export type Results = { [T in Type]: ReturnType<Kinds[T]["decide"]> };

/** The kinds by type. */
const COMMANDS: { readonly [T in Type]: CommandKind<Commands[T], Results[T]> } = KINDS;

/** The rows that a command may read: they are loaded before it executes. */
export function needsOf<T extends Type>(command: Command<T>): Need[] {
  return COMMANDS[command.type].needs(command);
}

/** Whether a command shares its commit with no other one. */
export function needsOwnBatch({ type }: Command): boolean {
  return COMMANDS[type].ownBatch === true;
}

/** A command's result and everything that must be committed for the result to be true. */
export interface Decision {
  result: Results[Command["type"]];
  draft: Draft;
}

/**
 * Decides one command. Pure: it reads `state`, never changes it, and knows the time only as it is given.
 * @param now milliseconds since the epoch, by the database's clock: what is decided depends on it alone.
 * @param ts milliseconds since the epoch, at which the audit entries will be dated: `now`, or later if the clock stepped back.
 * @throws Fault when the command is refused; then there is nothing to commit.
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

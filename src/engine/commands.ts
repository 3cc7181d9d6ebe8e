import { keepAnswer, keepWebhook } from "./arrived-webhooks.ts";
import type { CommandKind } from "./command.ts";
import { creditWallet, debitWallet, decideWithdrawal, recordDeposit, requestWithdrawal } from "./funding.ts";
import { acceptFinding, acceptRollback, recordReconciliation, recordRestore } from "./integrity.ts";
import { createKey, revokeKey, rotateKey } from "./keys.ts";
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
};

type Kinds = typeof KINDS;
type Type = keyof Kinds;

/** The fields of each kind's commands. */
type Commands = { [T in Type]: Parameters<Kinds[T]["decide"]>[1] & { type: T } };

export type Command<T extends Type = Type> = Commands[T];

/** What each command resolves to. */
export type Results = { [T in Type]: ReturnType<Kinds[T]["decide"]> };

/** The kinds by type. */
export const COMMANDS: { readonly [T in Type]: CommandKind<Commands[T], Results[T]> } = KINDS;

/** The rows that a command may read: they are loaded before it executes. */
export function needsOf<T extends Type>(command: Command<T>): Need[] {
  return COMMANDS[command.type].needs(command);
}

/** Whether a command shares its commit with no other one. */
export function needsOwnBatch({ type }: Command): boolean {
  return COMMANDS[type].ownBatch === true;
}

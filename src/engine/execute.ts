import { closeMarket } from "./closing.ts";
import type { Command, Results } from "./commands.ts";
import { keepDelivery } from "./deliveries.ts";
import { Draft, type Reader } from "./draft.ts";
import { creditWallet, decideWithdrawal, requestWithdrawal } from "./funding.ts";
import { createKey, revokeKey, rotateKey } from "./keys.ts";
import { createMarket, resumeMarket, settleMarket, suspendMarket } from "./markets.ts";
import { putOnRecord } from "./on-record.ts";
import { holdMarket } from "./oracle.ts";
import { recordPayment } from "./payments.ts";
import { endOverrides, updatePolicy } from "./policy.ts";
import { recordRestore } from "./restore.ts";
import { acceptRollback } from "./rollback.ts";
import { revokeUser } from "./sessions.ts";
import { applyConfig, recordReconciliation } from "./tenant.ts";
import { placeTrade, sellShares } from "./trade.ts";
import { recordDeposit, recordKyc, restrictUser, submitSuitability } from "./traders.ts";

/** A command's result and everything that must be committed for the result to be true. */
export interface Decision {
  result: Results[Command["type"]];
  draft: Draft;
}

/**
 * Decides one command. Pure: it reads `state`, never changes it, and knows the time only as `now`.
 * @param now milliseconds since the epoch, by the database's clock.
 * @throws Fault when the command is refused; then there is nothing to commit.
 */
export function execute(state: Reader, command: Command, now: number): Decision {
  const draft = new Draft(state);
  return { result: decide(draft, command, now), draft };
}

function decide(draft: Draft, command: Command, now: number): Results[Command["type"]] {
  switch (command.type) {
    case "placeTrade":
      return placeTrade(draft, command, now);
    case "sellShares":
      return sellShares(draft, command, now);
    case "submitSuitability":
      return submitSuitability(draft, command, now);
    case "restrictUser":
      return restrictUser(draft, command, now);
    case "revokeUser":
      return revokeUser(draft, command, now);
    case "creditWallet":
      return creditWallet(draft, command, now);
    case "requestWithdrawal":
      return requestWithdrawal(draft, command, now);
    case "decideWithdrawal":
      return decideWithdrawal(draft, command, now);
    case "createMarket":
      return createMarket(draft, command, now);
    case "suspendMarket":
      return suspendMarket(draft, command, now);
    case "resumeMarket":
      return resumeMarket(draft, command, now);
    case "settleMarket":
      return settleMarket(draft, command, now);
    case "closeMarket":
      return closeMarket(draft, command, now);
    case "holdMarket":
      return holdMarket(draft, command, now);
    case "updatePolicy":
      return updatePolicy(draft, command, now);
    case "endOverrides":
      return endOverrides(draft, now);
    case "recordKyc":
      return recordKyc(draft, command, now);
    case "recordDeposit":
      return recordDeposit(draft, command, now);
    case "recordPayment":
      return recordPayment(draft, command, now);
    case "keepDelivery":
      return keepDelivery(draft, command, now);
    case "recordReconciliation":
      return recordReconciliation(draft, command, now);
    case "acceptRollback":
      return acceptRollback(draft, command);
    case "recordRestore":
      return recordRestore(draft, command);
    case "applyConfig":
      return applyConfig(draft, command, now);
    case "putOnRecord":
      return putOnRecord(draft, now);
    case "createKey":
      return createKey(draft, command, now);
    case "rotateKey":
      return rotateKey(draft, command, now);
    case "revokeKey":
      return revokeKey(draft, command, now);
  }
}

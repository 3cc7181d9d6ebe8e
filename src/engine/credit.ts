import { externalOf, receivableOf, walletOf } from "../domain/accounts.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { Draft } from "./draft.ts";

interface Credit {
  provider: string;
  userId: string;
  amountMicro: bigint;
  /** The provider's name of the payment. */
  txRef: string;
  /** Why, where it is no plain deposit. */
  cause?: string;
}

/** Money from a provider to a user. What the user owes is paid first; the wallet gets the rest. */
export function creditUser(draft: Draft, { provider, userId, amountMicro, txRef, cause }: Credit): void {
  const owedMicro = -draft.account(receivableOf(userId)).balanceMicro;
  const settledMicro = owedMicro <= 0n ? 0n : owedMicro < amountMicro ? owedMicro : amountMicro;
  draft.transfer(externalOf(provider), receivableOf(userId), settledMicro);
  draft.transfer(externalOf(provider), walletOf(userId), amountMicro - settledMicro);
  draft.record("wallet.credited", {
    userId,
    amount: decimalFromMicro(amountMicro),
    receivable: settledMicro > 0n || cause !== undefined ? decimalFromMicro(settledMicro) : undefined,
    txRef,
    provider,
    cause,
  });
}

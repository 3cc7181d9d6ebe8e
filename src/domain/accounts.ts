/**
 * The purpose of an account: a user's `wallet`, the user's outgoing money (`pending`) and debt (`receivable`), a
 * market's `escrow`, or an outside provider (`external`). An account's id is `kind:owner`.
 */
export type AccountKind = "wallet" | "pending" | "receivable" | "escrow" | "external";

/** The house's own accounts, which have no owner. */
export const TREASURY = "treasury";
export const FEES = "fees";

/** The beginning of every account id of a kind. */
export const prefixOf = (kind: AccountKind) => `${kind}:`;

export const walletOf = (traderId: string) => prefixOf("wallet") + traderId;
export const pendingOf = (traderId: string) => prefixOf("pending") + traderId;
/** A user's debt as a negative balance: a refund took money that the wallet no longer held. */
export const receivableOf = (traderId: string) => prefixOf("receivable") + traderId;
export const escrowOf = (marketId: string) => prefixOf("escrow") + marketId;
export const externalOf = (provider: string) => prefixOf("external") + provider;
/** The source of the house's own capital. */
export const CAPITAL = externalOf("capital");
/** The destination of approved withdrawals. */
export const WITHDRAWN = externalOf("withdrawals");

const isOf = (kind: AccountKind, account: string) => account.startsWith(prefixOf(kind));

/** Money enters from external accounts, and receivables are debts. No other account may be negative. */
export const mayBeNegative = (account: string) => isOf("external", account) || isOf("receivable", account);

/** The provider that sends or receives the money; undefined for other accounts, including the house's capital. */
export function providerOf(account: string): string | undefined {
  return isOf("external", account) && account !== CAPITAL ? account.slice(prefixOf("external").length) : undefined;
}

/**
 * The purpose of an account: a user's wallet and the money on its way out of it (`pending`), what a user owes
 * (`receivable`), a market's `escrow`, and a provider outside (`external`). An account's id is `kind:owner`.
 */
export type AccountKind = "wallet" | "pending" | "receivable" | "escrow" | "external";

/** The house's own accounts, which have no owner. */
export const TREASURY = "treasury";
export const FEES = "fees";

/** The beginning of every account id of a kind. */
export const prefixOf = (kind: AccountKind) => `${kind}:`;

export const walletOf = (traderId: string) => prefixOf("wallet") + traderId;
export const pendingOf = (traderId: string) => prefixOf("pending") + traderId;
/** What a user owes, as a negative balance: a refund took money that the wallet no longer held. */
export const receivableOf = (traderId: string) => prefixOf("receivable") + traderId;
export const escrowOf = (marketId: string) => prefixOf("escrow") + marketId;
export const externalOf = (provider: string) => prefixOf("external") + provider;
/** Where the house's own capital comes from. */
export const CAPITAL = externalOf("capital");
/** Where approved withdrawals go. */
export const WITHDRAWN = externalOf("withdrawals");

const isOf = (kind: AccountKind, account: string) => account.startsWith(prefixOf(kind));

/** Money comes from external accounts, and receivables are debts; every other account never falls below zero. */
export const mayBeNegative = (account: string) => isOf("external", account) || isOf("receivable", account);

/** The provider that money comes from or goes to; undefined for any other account, the house's capital among them. */
export function providerOf(account: string): string | undefined {
  return isOf("external", account) && account !== CAPITAL ? account.slice(prefixOf("external").length) : undefined;
}

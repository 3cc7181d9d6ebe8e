import { Fault, invariant } from "../domain/fault.ts";
import { openPool, pricesOf, type Side, statusAt } from "../domain/market/market.ts";
import { encodeTerms, termsJson } from "../domain/market/terms.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { CreateMarket, Results, ResumeMarket, SettleMarket, SuspendMarket } from "./commands.ts";
import type { Draft, Reader } from "./draft.ts";
import { recordResolution, requireOracleMaySettle, watchMarket } from "./oracle.ts";
import { type Book, escrowOf, type Market, type Position, SINGLE, type Tenant, TREASURY, walletOf } from "./rows.ts";

/** @throws Fault MARKET_NOT_FOUND */
export function requireMarket(state: Reader, id: string): { market: Market; book: Book } {
  const market = state.get("market", id);
  const book = state.get("book", id);
  if (!market || !book) throw new Fault("MARKET_NOT_FOUND", "Market not found");
  return { market, book };
}

/** @throws Fault REFUSED before the first apply */
export function requireTenant(state: Reader): Tenant {
  const tenant = state.get("tenant", SINGLE);
  if (!tenant) throw new Fault("REFUSED", "The tenant has not been applied yet: run pmctl apply");
  return tenant;
}

/** Moves F from the treasury into the market's escrow, which backs the F complete sets of the pool and the house. */
export function createMarket(draft: Draft, command: CreateMarket, now: number): Results["createMarket"] {
  const { id, question, category, kind, p0Ppm, closeAt, resolutionRef, meta, terms } = command;
  if (closeAt <= now) throw new Fault("BAD_REQUEST", "closeAt: must be in the future");
  const fundMicro = command.liquidityMicro ?? requireTenant(draft).liquidityMicro;
  const pool = openPool({ kind, fundMicro, p0Ppm });
  if (pool.yesMicro === 0n || pool.noMicro === 0n)
    throw new Fault("BAD_REQUEST", "liquidityUsd: is too little for a market at this p0");
  const market: Market = {
    id,
    question,
    category,
    kind,
    p0Ppm,
    fundMicro,
    closeAt,
    resolutionRef,
    meta,
    createdAt: now,
    fileKey: command.fileKey ?? null,
    houseYesMicro: fundMicro - pool.yesMicro,
    houseNoMicro: fundMicro - pool.noMicro,
    terms: terms ? encodeTerms(terms) : null,
  };
  draft.transfer(TREASURY, escrowOf(id), fundMicro, treasuryShort);
  draft.put("market", id, market);
  draft.put("book", id, {
    marketId: id,
    ...pool,
    status: "open",
    volumeMicro: 0n,
    outcome: null,
    settledAt: null,
    closingRecorded: false,
    version: 0,
  });
  if (terms) watchMarket(draft, id, terms.instant);
  draft.record("market.created", {
    marketId: id,
    question,
    category,
    kind,
    p0: String(p0Ppm / 1e6),
    closeAt: new Date(closeAt).toISOString(),
    resolutionRef,
    liquidity: decimalFromMicro(fundMicro),
    key: command.fileKey,
    terms: terms ? termsJson(terms) : undefined,
  });
  return { id, yesPrice: pricesOf(market, pool).yes, createdAt: now };
}

function treasuryShort(balanceMicro: bigint, amountMicro: bigint): Fault {
  return new Fault("TREASURY_INSUFFICIENT", "The treasury cannot fund this market", {
    detail: {
      field: "treasury.capitalUsd",
      limit: decimalFromMicro(balanceMicro),
      value: decimalFromMicro(amountMicro),
    },
  });
}

/** From open only; a second suspend changes nothing. */
export function suspendMarket(draft: Draft, { marketId }: SuspendMarket, now: number): Results["suspendMarket"] {
  const { market, book } = requireMarket(draft, marketId);
  refuseFinal(market, book, now, "suspended");
  if (book.status === "open") {
    draft.put("book", marketId, { ...book, status: "suspended" });
    draft.record("market.suspended", { marketId });
  }
  return { id: marketId, status: "suspended" };
}

/** From suspended and before the closing time; on an open market it changes nothing. */
export function resumeMarket(draft: Draft, { marketId }: ResumeMarket, now: number): Results["resumeMarket"] {
  const { market, book } = requireMarket(draft, marketId);
  refuseFinal(market, book, now, "resumed");
  if (book.status === "suspended") {
    draft.before = market.closeAt;
    draft.put("book", marketId, { ...book, status: "open" });
    draft.record("market.resumed", { marketId });
  }
  return { id: marketId, status: "open" };
}

function refuseFinal(market: Market, book: Book, now: number, verb: string): void {
  const status = statusAt({ status: book.status, closeAt: market.closeAt }, now);
  if (status === "settled") throw new Fault("MARKET_SETTLED", `Market is settled and cannot be ${verb}`);
  if (status === "closed") throw new Fault("MARKET_CLOSED", `Market is closed and cannot be ${verb}`);
}

/**
 * Pays one dollar per winning share out of the escrow; what remains belongs to the pool and the house and returns to
 * the treasury. Exact: escrow = YES outstanding = NO outstanding, so the escrow ends at zero whichever side wins.
 */
export function settleMarket(draft: Draft, command: SettleMarket, now: number): Results["settleMarket"] {
  const { marketId, outcome, oracle } = command;
  const { market, book } = requireMarket(draft, marketId);
  if (book.status === "settled") throw new Fault("MARKET_SETTLED", "Market is already settled");
  if (oracle) requireOracleMaySettle(draft, { market, book, oracle }, now);
  const escrow = escrowOf(marketId);
  const escrowMicro = draft.account(escrow).balanceMicro;
  const holders = draft.get("holders", marketId) ?? [];

  const winners = holders.filter(({ side, sharesMicro }) => side === outcome && sharesMicro > 0n);
  requireExpected(command, winners);
  for (const { traderId, sharesMicro } of winners) draft.transfer(escrow, walletOf(traderId), sharesMicro);
  const houseMicro = draft.account(escrow).balanceMicro;
  invariant(
    houseMicro === sharesLeftToHouse(market, book, outcome),
    `the escrow of ${marketId} covers exactly the outstanding ${outcome} shares`,
  );
  draft.transfer(escrow, TREASURY, houseMicro);
  for (const holder of holders) closePosition(draft, holder);
  draft.put("book", marketId, { ...book, status: "settled", outcome, settledAt: now });
  draft.record("market.settled", {
    marketId,
    outcome,
    payouts: winners.length,
    paid: decimalFromMicro(escrowMicro - houseMicro),
    returned: decimalFromMicro(houseMicro),
    houseResult: decimalFromMicro(houseMicro - market.fundMicro),
  });
  recordResolution(draft, command);
  return { id: marketId, outcome, settledAt: now, payoutsProcessed: winners.length };
}

/** Decided in the commit that pays, so that no trade can come between the look and the settlement. */
function requireExpected({ expect }: SettleMarket, winners: readonly Position[]): void {
  const totalMicro = winners.reduce((total, { sharesMicro }) => total + sharesMicro, 0n);
  const { payouts = winners.length, totalMicro: expectedMicro = totalMicro } = expect ?? {};
  const expected = [
    ...(payouts === winners.length ? [] : [payoutCount(payouts)]),
    ...(expectedMicro === totalMicro ? [] : [`${decimalFromMicro(expectedMicro)} USD`]),
  ];
  if (expected.length === 0) return;
  throw new Fault(
    "EXPECTATION_NOT_MET",
    `Settling would make ${payoutCount(winners.length)} of ${decimalFromMicro(totalMicro)} USD in all, ` +
      `which is not the expected ${expected.join(" of ")}: nothing was paid`,
  );
}

function payoutCount(count: number): string {
  return count === 1 ? "1 payout" : `${count} payouts`;
}

function sharesLeftToHouse(market: Market, book: Book, outcome: Side): bigint {
  return outcome === "yes" ? book.yesMicro + market.houseYesMicro : book.noMicro + market.houseNoMicro;
}

/** The row stays as history; the exposure, where it is in memory, drops by the position's cost. */
function closePosition(draft: Draft, { traderId, costMicro }: Position): void {
  const portfolio = draft.get("portfolio", traderId);
  if (portfolio) draft.put("portfolio", traderId, { exposureMicro: portfolio.exposureMicro - costMicro });
}

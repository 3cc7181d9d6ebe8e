import { escrowOf, TREASURY } from "../domain/accounts.ts";
import { Fault } from "../domain/fault.ts";
import { MOST_CLARIFICATIONS } from "../domain/market/clarification.ts";
import { type MarketKind, openPool, pricesOf, statusAt } from "../domain/market/market.ts";
import { NO_HOUR } from "../domain/market/running-sums.ts";
import { encodeTerms, type MarketTerms, termsJson } from "../domain/market/terms.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { OwnTerms } from "../domain/policy/approvals.ts";
import { marketSubject, requireNoneWaiting, waitingNeed } from "./approvals/proposals.ts";
import { type CommandKind, marketNeeds, need, requireMarket, requireTenant, TENANT } from "./command.ts";
import type { Draft } from "./draft.ts";
import { watchMarket } from "./oracle.ts";
import type { Clarification, Market, MarketState, Need } from "./rows.ts";

export interface CreateMarket {
  id: string;
  question: string;
  category: string;
  kind: MarketKind;
  p0Ppm: number;
  closeAt: number;
  resolutionRef: string;
  meta: string;
  liquidityMicro: bigint | null;
  /** Its own rules for its end, besides those of the tenant and the category. */
  resolution?: OwnTerms | null | undefined;
  /** The market's key in the tenant's files; unique among all past and present markets. */
  fileKey?: string | undefined;
  /** The parsed reference by which the oracle settles the market; without terms a person settles it. */
  terms?: MarketTerms | null | undefined;
}

/** Moves the fund F from the treasury into the market's escrow, which backs the F complete sets of the pool and the house. */
export const createMarket: CommandKind<CreateMarket, { id: string; yesPrice: number; createdAt: number }> = {
  needs: ({ fileKey }) => [
    TENANT,
    need("account", TREASURY),
    ...(fileKey === undefined ? [] : [need("marketKey", fileKey)]),
  ],
  decide(draft, command, now) {
    const { id, question, category, kind, p0Ppm, closeAt, resolutionRef, meta, terms } = command;
    const { fileKey = null } = command;
    if (fileKey !== null && draft.get("marketKey", fileKey)) throw keyTaken(fileKey);
    if (closeAt <= now) throw new Fault("BAD_REQUEST", "closeAt: must be in the future");
    const fundMicro = command.liquidityMicro ?? requireTenant(draft).liquidityMicro;
    const pool = openPool({ kind, fundMicro, p0Ppm });
    if (pool.yesMicro === 0n || pool.noMicro === 0n)
      throw new Fault("BAD_REQUEST", "liquidityUsd: is too small for a market with this p0");
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
      fileKey,
      houseYesMicro: fundMicro - pool.yesMicro,
      houseNoMicro: fundMicro - pool.noMicro,
      terms: terms ? encodeTerms(terms) : null,
      resolution: command.resolution ?? null,
    };
    draft.transfer(TREASURY, escrowOf(id), fundMicro, treasuryShort);
    draft.put("market", id, market);
    if (fileKey !== null) draft.put("marketKey", fileKey, market);
    draft.put("marketState", id, {
      marketId: id,
      ...pool,
      status: "open",
      volumeMicro: 0n,
      outcome: null,
      settledAt: null,
      closingRecorded: false,
      ...NO_HOUR,
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
      meta: JSON.parse(meta),
      liquidity: decimalFromMicro(fundMicro),
      key: command.fileKey,
      terms: terms ? termsJson(terms) : undefined,
      resolution: command.resolution ? { ...command.resolution } : undefined,
    });
    return { id, yesPrice: pricesOf(market, pool).yes, createdAt: now };
  },
};

/** A plan's change of an existing market's key. */
export interface NamedMarket {
  marketId: string;
  key: string;
  /** The earlier key; undefined if the market was created outside the files. */
  from?: string | undefined;
}

export const namingNeeds = ({ marketId, key }: NamedMarket): Need[] => [
  ...marketNeeds(marketId),
  need("marketKey", key),
];

/** Requires that the key is free, or belonged to this market before. */
export function nameMarket(draft: Draft, { marketId, key, from }: NamedMarket): void {
  draft.put("marketKey", key, requireMarket(draft, marketId).market);
  if (from === undefined) draft.record("market.imported", { marketId, key });
  else draft.record("market.moved", { marketId, from, key });
}

/** A market's key is its identity in the tenant's files, so it stays taken after the settlement. */
function keyTaken(key: string): Fault {
  return new Fault("MARKET_KEY_TAKEN", `The key ${key} belongs to another market`, {
    detail: { field: "key", value: key },
  });
}

function treasuryShort(balanceMicro: bigint, amountMicro: bigint): Fault {
  const [limit, value] = [decimalFromMicro(balanceMicro), decimalFromMicro(amountMicro)];
  return new Fault(
    "TREASURY_INSUFFICIENT",
    `The treasury cannot fund this market: it needs $${value}, and the treasury holds $${limit}`,
    {
      detail: { field: "treasury.capitalUsd", limit, value },
    },
  );
}

/** Suspends an open market; a second suspension changes nothing. */
export const suspendMarket: CommandKind<{ marketId: string }, { id: string; status: "suspended" }> = {
  needs: ({ marketId }) => marketNeeds(marketId),
  decide(draft, { marketId }, now) {
    const { market, marketState } = requireMarket(draft, marketId);
    requireNotFinal(market, marketState, now, "suspended");
    if (marketState.status === "open") {
      draft.put("marketState", marketId, { ...marketState, status: "suspended" });
      draft.record("market.suspended", { marketId });
    }
    return { id: marketId, status: "suspended" };
  },
};

/** Resumes a suspended market before its closing time; for an open market it changes nothing. */
export const resumeMarket: CommandKind<{ marketId: string }, { id: string; status: "open" }> = {
  needs: ({ marketId }) => [...marketNeeds(marketId), waitingNeed(marketSubject(marketId))],
  decide(draft, { marketId }, now) {
    const { market, marketState } = requireMarket(draft, marketId);
    requireNotFinal(market, marketState, now, "resumed");
    if (marketState.status === "suspended") {
      requireNoneWaiting(draft, marketSubject(marketId));
      draft.before = market.closeAt;
      draft.put("marketState", marketId, { ...marketState, status: "open" });
      draft.record("market.resumed", { marketId });
    }
    return { id: marketId, status: "open" };
  },
};

export interface ClarifyMarket {
  /** The clarification's. */
  id: string;
  marketId: string;
  text: string;
}

/** Adds a text to a market's rules. The terms and earlier texts stay as they are. */
export const clarifyMarket: CommandKind<ClarifyMarket, Omit<Clarification, "position">> = {
  needs: ({ marketId }) => [...marketNeeds(marketId), need("clarifications", marketId)],
  decide(draft, { id, marketId, text }, now) {
    const { marketState } = requireMarket(draft, marketId);
    if (marketState.status === "settled")
      throw new Fault("MARKET_SETTLED", "Market is settled and cannot be clarified");
    const earlier = draft.get("clarifications", marketId) ?? [];
    if (earlier.length >= MOST_CLARIFICATIONS)
      throw new Fault("LIMIT_REACHED", `Market has ${MOST_CLARIFICATIONS} clarifications, the most that it may have`);
    const added = { id, marketId, text, at: now };
    const row = { ...added, position: earlier.length + 1 };
    draft.put("clarification", id, row);
    draft.put("clarifications", marketId, [...earlier, row]);
    draft.record("market.clarified", { marketId, id, text });
    return added;
  },
};

function requireNotFinal(market: Market, marketState: MarketState, now: number, verb: string): void {
  const status = statusAt({ status: marketState.status, closeAt: market.closeAt }, now);
  if (status === "settled") throw new Fault("MARKET_SETTLED", `Market is settled and cannot be ${verb}`);
  if (status === "closed") throw new Fault("MARKET_CLOSED", `Market is closed and cannot be ${verb}`);
}

/**
 * Records once that a market has closed. Nothing depends on the entry: trades are refused by the clock alone. Any
 * number of processes may ask. Only the first writes, and none before the closing time or after the settlement.
 */
export const closeMarket: CommandKind<{ marketId: string }, { recorded: boolean }> = {
  needs: ({ marketId }) => marketNeeds(marketId),
  decide(draft, { marketId }, now) {
    const { market, marketState } = requireMarket(draft, marketId);
    const status = statusAt({ status: marketState.status, closeAt: market.closeAt }, now);
    if (status !== "closed" || marketState.closingRecorded) return { recorded: false };
    draft.put("marketState", marketId, { ...marketState, closingRecorded: true });
    draft.record("market.closed", { marketId, closeAt: new Date(market.closeAt).toISOString() });
    return { recorded: true };
  },
};

import type { MarketKind } from "../market/market-makers.ts";
import type { OutcomeShape } from "../market/outcome.ts";
import type { ProposalKind } from "../policy/proposal.ts";
import type { Json } from "./audit-link.ts";

/** What a void paid. */
export type Void = {
  marketId: string;
  /** Why, as traders read it. */
  reason: string;
  /** How many positions were paid. */
  payoutsProcessed: number;
  /** What they were paid in all. */
  refunded: string;
  /** The part of it that came from the house's fees. */
  fromFees: string;
  /** What the treasury added because the escrow lacked it. */
  fromTreasury: string;
  /** What went back to the treasury. */
  toTreasury: string;
  /** What the decision rests on, as the operator wrote it. */
  evidence?: string | undefined;
};

/** What a correction of a market's outcome moved. */
export type Correction = {
  marketId: string;
  /** The outcome until then. */
  from: OutcomeShape<string>;
  /** The outcome from then on. */
  outcome: OutcomeShape<string>;
  reason: string;
  /** What was taken back in all. */
  takenBack: string;
  /** The part of it that wallets lacked, so that the users owe it. */
  receivables: string;
  /** What was paid in all. */
  paid: string;
  /** What the decision rests on, as the operator wrote it. */
  evidence?: string | undefined;
};

/** What a settlement paid. */
export type Settlement = {
  marketId: string;
  /** The side that won; or `yes` with what a YES share was paid. */
  outcome: Exclude<OutcomeShape<string>, "void">;
  /** How many positions were paid more than 0. */
  payouts: number;
  /** What they were paid in all. */
  paid: string;
  /** What went back to the treasury. */
  returned: string;
  /** What went back less the liquidity: negative where the house lost. */
  houseResult: string;
  /** What the decision rests on, as the operator wrote it. */
  evidence?: string | undefined;
};

/** A market's terms. */
export type CreatedMarket = {
  /** The market's identifier. */
  marketId: string;
  /** What traders answer with Yes or No. */
  question: string;
  /** The category that the market is listed under. */
  category: string;
  /** The market maker. */
  kind: MarketKind;
  /** The first price of Yes, 0 to 1. */
  p0: string;
  /** When trading ends. */
  closeAt: string;
  /** What decides the outcome, such as a feed. */
  resolutionRef: string;
  /** The rules and other words that traders read with the market. */
  meta: Json;
  /** What the treasury put behind the market. */
  liquidity: string;
  /** The market's key in the tenant's files. */
  key: string | undefined;
  /** What the feed must show for Yes to win; absent where no feed decides. */
  terms: Json | undefined;
  /** Its own rules for its end, besides those of tenant and category: `holdHours` and `approvals`. */
  resolution?: Json | undefined;
};

/** The proposal of an entry. */
export type ProposalStep = {
  /** The proposal's identifier. */
  proposalId: string;
  /** What it would do. */
  kind: ProposalKind;
  /** Of a market's end or correction. */
  marketId?: string | undefined;
  /** The outcome that it would give the market. */
  outcome?: OutcomeShape<string> | undefined;
  /** The earliest time of its execution. */
  finalAt: string;
};

/** A command that waits. */
export type CreatedProposal = ProposalStep & {
  /** What it is about; of one subject, one proposal waits at most. */
  subject: string;
  /** Why, as the proposer wrote it. */
  reason?: string | undefined;
  /** What the decision rests on. */
  evidence?: Json | undefined;
  /** The operation and its input, which it would carry out. */
  request: Json;
  /** How many actors must agree, its own among them. */
  approvalsNeeded: number;
};

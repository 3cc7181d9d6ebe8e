import type { HedgeRef } from "../domain/hedge.ts";
import type { Side } from "../domain/market/market.ts";
import type { TraderState } from "../domain/trader.ts";
import type { Withdrawal } from "./rows.ts";

/** What a buyer asks for. */
export interface BuyTerms {
  marketId: string;
  side: Side;
  /** What is spent, fee included. */
  amountMicro: bigint;
  /** The jurisdiction that the user's token claims, used when the KYC event named none. */
  claimedJurisdiction: string | undefined;
  /** Refused when the average price would be above it. */
  maxAvgPrice?: number | undefined;
  /** Refused when it would buy fewer. */
  minSharesMicro?: bigint | undefined;
}

export interface PlaceTrade extends BuyTerms {
  type: "placeTrade";
  id: string;
  traderId: string;
  hedgeRef?: HedgeRef | undefined;
}

/** What a seller asks for. */
export interface SellTerms {
  marketId: string;
  side: Side;
  sharesMicro: bigint;
  claimedJurisdiction: string | undefined;
  /** Refused when the average price would be below it. */
  minAvgPrice?: number | undefined;
}

export interface SellShares extends SellTerms {
  type: "sellShares";
  id: string;
  traderId: string;
}

export interface SubmitSuitability {
  type: "submitSuitability";
  id: string;
  traderId: string;
  /** Scores of 0 to 4 by question. */
  answers: Record<string, number>;
}

export interface RequestWithdrawal {
  type: "requestWithdrawal";
  id: string;
  traderId: string;
  amountMicro: bigint;
}

export interface DecideWithdrawal {
  type: "decideWithdrawal";
  id: string;
  /** Whose it is; a withdrawal never changes hands, so the service may look it up beforehand. */
  traderId: string;
  approve: boolean;
}

/** An operator puts money into a wallet by hand. */
export interface CreditWallet {
  type: "creditWallet";
  traderId: string;
  amountMicro: bigint;
}

export interface RestrictUser {
  type: "restrictUser";
  traderId: string;
  restricted: boolean;
}

/** Ends the sessions of a user: tokens issued before an instant are refused from now on. */
export interface RevokeUser {
  type: "revokeUser";
  traderId: string;
  /** Now, unless given. */
  before: number | undefined;
}

export type TraderCommand =
  | PlaceTrade
  | SellShares
  | SubmitSuitability
  | RequestWithdrawal
  | DecideWithdrawal
  | CreditWallet
  | RestrictUser
  | RevokeUser;

/** What each of them resolves to. */
export interface TraderResults {
  placeTrade: TradeResult;
  sellShares: TradeResult;
  submitSuitability: { score: number; exposureCapMinor: number; passed: boolean };
  requestWithdrawal: Withdrawal;
  decideWithdrawal: Withdrawal;
  creditWallet: { balanceMicro: bigint; ts: number };
  restrictUser: { state: TraderState };
  /** `moved` is false where a later instant stood already. */
  revokeUser: { before: number; moved: boolean };
}

export interface TradeResult {
  tradeId: string;
  marketId: string;
  side: Side;
  action: "buy" | "sell";
  /** Gross: what a buyer paid, fee included; what a seller's shares brought, before the fee. */
  amountMicro: bigint;
  feeMicro: bigint;
  sharesMicro: bigint;
  avgPrice: number;
  yesPriceAfter: number;
  ts: number;
  position: { sharesMicro: bigint; costMicro: bigint };
  /** A seller's proceeds after the fee, less what the shares had cost; null for a buyer. */
  realizedMicro: bigint | null;
  hedgeRef: HedgeRef | null;
}

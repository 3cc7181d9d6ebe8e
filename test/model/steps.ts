import type { End } from "./model-ends.ts";
import type { Rules } from "./model-proposals.ts";
import type { Policy } from "./model-state.ts";

/** A scenario is plain JSON, so that it can be stored, shortened and run again. */
export interface Scenario {
  seed: number;
  tenant: TenantPlan;
  steps: Step[];
}

export interface TenantPlan {
  kycRequired: boolean;
  capitalUsd: number;
  liquidityUsd: number;
  correctionHours: number;
  policy: Policy;
  /** Of tenants where some changes wait for others. */
  rules?: Rules;
  /** Servers in this process, or processes of their own that can be killed. */
  servers: "within" | "processes";
}

/** What a step asks for. Things that the server names itself go by labels: `m3`, `w1`, `k2`. */
export type Wish =
  | {
      do: "placeTrade" | "placeOrder" | "quoteTrade";
      user: string;
      claimed?: string;
      market: string;
      terms: TradeTerms;
    }
  | { do: "createMarket"; as: string; body: Record<string, unknown> & { closeIn?: number } }
  | { do: "suspendMarket" | "resumeMarket"; market: string }
  | { do: "clarifyMarket"; market: string; text: string }
  | { do: "settleMarket"; market: string; outcome: End; expectPayouts?: number }
  | { do: "voidMarket"; market: string; reason?: string; expectPayouts?: number; maxTreasuryUsd?: number }
  | { do: "correctMarket"; market: string; outcome: End; reason?: string; maxTreasuryUsd?: number }
  | { do: "requestWithdrawal"; as: string; user: string; amount: number | Part }
  | { do: "approveWithdrawal" | "rejectWithdrawal"; withdrawal: string }
  | { do: "creditWallet"; user: string; amount: number; reason?: string }
  | { do: "submitSuitability"; user: string; answers: Record<string, number> }
  | { do: "restrictUser" | "releaseUser"; user: string }
  | { do: "updatePolicy"; patch: Record<string, unknown> }
  | { do: "createKey"; name: string; type: "admin" | "public" }
  | { do: "rotateKey"; name: string; overlapSeconds: number }
  | { do: "revokeKey"; name: string }
  | { do: "approveProposal" | "executeProposal"; proposal: Chosen }
  | { do: "rejectProposal"; proposal: Chosen; reason: string }
  | { do: "objectToProposal"; user: string; proposal: Chosen; reason: string }
  | { do: "reconcile" }
  | { do: "receivePayment" | "receiveKyc" | "receiveStripe"; body: Record<string, unknown> };

export interface TradeTerms {
  side: "yes" | "no";
  amount?: number;
  /** Of a sale. */
  shares?: number | Part;
  maxAvgPrice?: number;
  minAvgPrice?: number;
  minProceeds?: number;
  minShares?: number;
  hedgeRef?: { symbol: string; direction: "long" | "short"; notional: number; externalRef: string };
}

/** Which of the proposals that are there when the step is taken, counted from the newest one. */
export interface Chosen {
  back: number;
  /** Only of those that wait, where any does. */
  waits: boolean;
}

/** A part of what is there when the step is taken: all of it, a half, one micro-unit, or one too many. */
export type Part = "all" | "half" | "micro" | "more";

export interface Call {
  wish: Wish;
  /** The API key that it comes with; the tenant file's own unless given. */
  key?: string;
  /** Which of the two servers is asked. */
  server: 0 | 1;
  idempotencyKey?: string;
  /** The first answer is lost on the way, so the caller asks again under its key. */
  lost?: true;
  /** Through the command line, over HTTP or straight to the database. */
  door?: "http" | "db";
}

export type Step =
  | { type: "call"; call: Call }
  /** The call that had this key again, with the same body or another one. */
  | { type: "again"; idempotencyKey: string; change: boolean; server: 0 | 1 }
  /** Two calls at once, one at each server. */
  | { type: "race"; calls: [Call, Call] }
  | { type: "restart"; server: 0 | 1 }
  /** SIGKILL while the call is under way; the caller asks the next process under its key. */
  | { type: "kill"; server: 0 | 1; call: Call }
  /** Reads through the command line. */
  | { type: "look"; words: string[]; path: string; user?: string };

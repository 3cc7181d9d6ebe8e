import { z } from "zod";
import { USER_ACTIONS } from "../../domain/fault.ts";
import { MAX_AMOUNT_USD } from "../../domain/money.ts";
import { placeOf, problemOfCountry, UNREADABLE_PLACE } from "../../domain/policy/jurisdictions.ts";
import { KYC_STATES } from "../../domain/trader.ts";
import { USER_STATES } from "../constants.ts";
import { operationsUnder } from "../operation.ts";
import {
  line,
  MarketId,
  paging,
  queryInteger,
  queryNumber,
  Timestamp,
  text,
  Usd,
  UsdAmount,
  UsdTotal,
  UserId,
} from "../scalars.ts";
import { orProposal } from "./ends/proposals.ts";
import { Wallet } from "./wallets.ts";

export const UserState = z.enum(USER_STATES).meta({ id: "UserState" });
export const UserRef = z.object({ id: UserId });

export const User = z
  .object({
    userId: UserId,
    state: UserState,
    kyc: z
      .enum(KYC_STATES)
      .describe("The status of the identity check; `state` does not show it while the user is restricted."),
    jurisdiction: z.string().nullable(),
    suitabilityScore: z.number().int().nullable(),
    ...Wallet.shape,
    createdAt: Timestamp,
    revokeBefore: Timestamp.nullable().describe(
      "Tokens issued before this time are rejected; null if no session was ever revoked.",
    ),
  })
  .meta({ id: "User" });

const Score = queryInteger(z.number().int().min(0).max(20));
export const UserFilter = z.object({
  q: text(255)
    .optional()
    .meta({
      description:
        "Part of the id, in any case. A request searches some of the users, so a page may have few or none and a next one.",
      examples: ["usr_"],
    }),
  state: UserState.optional(),
  minScore: Score.optional().describe("Only users whose suitability score is at least this."),
  maxScore: Score.optional().describe("Only users whose suitability score is at most this."),
  jurisdiction: text(6)
    .overwrite((code) => placeOf(code) ?? code.toUpperCase())
    .check(({ value, issues }) => {
      const message = value === UNREADABLE_PLACE ? undefined : problemOfCountry(value);
      if (message !== undefined) issues.push({ code: "custom", input: value, message });
    })
    .optional()
    .meta({
      description: `Only users of this jurisdiction, in any case; \`US\` covers \`US-NY\`, and ${UNREADABLE_PLACE} stands for an unreadable place.`,
      examples: ["GB"],
    }),
  minExposureUsd: queryNumber(z.number().min(0).max(MAX_AMOUNT_USD))
    .optional()
    .meta({ description: "Only users whose open positions cost at least this, in US dollars.", examples: [100] }),
  minOwedUsd: queryNumber(z.number().min(0).max(MAX_AMOUNT_USD))
    .optional()
    .meta({ description: "Only users who owe at least this, in US dollars.", examples: [0.01] }),
  ...paging,
});

const { userId, state, jurisdiction, suitabilityScore, balanceUsd, exposureUsd, owedUsd, createdAt } = User.shape;
export const UserItem = z
  .object({ userId, state, jurisdiction, suitabilityScore, balanceUsd, exposureUsd, owedUsd, createdAt })
  .meta({ id: "UserItem" });

export const RevocationInput = z
  .object({
    id: UserId,
    revokeBefore: Timestamp.optional().describe(
      "Tokens issued before this time are rejected; the default is now. It never moves backwards.",
    ),
  })
  .meta({ id: "RevocationInput" });
export const SessionsRevoked = z
  .object({
    userId: UserId,
    revokeBefore: Timestamp.describe("The instant now in force."),
  })
  .meta({ id: "SessionsRevoked" });

export const UserStateChange = z.object({ userId: UserId, state: UserState }).meta({ id: "UserStateChange" });

const byHand = {
  id: UserId,
  amount: UsdAmount.refine((micro) => micro <= 1_000_000_000_000_000n, "must be at most 1000000000"),
  reason: line(500).optional().describe("The reason; required here or in the header `Audit-Reason`."),
};
const moved = { userId: UserId, amount: Usd, balanceUsd: Usd, ts: Timestamp };
export const CreditInput = z
  .object({
    ...byHand,
    expectBalanceUsd: UsdTotal.optional().describe(
      "Only if the wallet holds exactly this much before. A proposal does not keep it, since the balance may change before its approval.",
    ),
  })
  .meta({ id: "CreditInput" });
export const Credited = z.object(moved).meta({ id: "Credited" });
export const DebitInput = z.object(byHand).meta({ id: "DebitInput" });
export const Debited = z.object(moved).meta({ id: "Debited" });

const rulesOf = MarketId.optional().describe(
  "Adds the rules of this market, such as `MARKET_CLOSED`. Without it only the rules of every market are checked.",
);

export const EligibilityReason = z
  .object({
    code: z.string().meta({
      description: "The code that the action itself would get in the header `Error-Code`.",
      examples: ["KYC_REQUIRED"],
    }),
    message: z.string().describe("The message that the action itself would get."),
    until: Timestamp.nullable().describe(
      "When the reason ends by itself, because a temporary change of the policy ends; null if no time is known.",
    ),
    action: z
      .enum(USER_ACTIONS)
      .nullable()
      .describe(
        "What the user can do about it: pass the identity check, add money, answer the assessment, or ask the operator; null if nothing.",
      ),
  })
  .meta({ id: "EligibilityReason" });

const verdict = {
  allowed: z.boolean().describe("Whether there are no reasons."),
  reasons: z
    .array(EligibilityReason)
    .describe("Everything that stands against any amount at all, in the order in which the action would meet it."),
};
const Verdict = z.object(verdict).meta({ id: "EligibilityVerdict" });

export const Eligibility = z
  .object({
    trade: z
      .object({
        ...verdict,
        limits: z.object({
          maxTradeUsd: Usd.describe("The limit per trade."),
          maxExposureUsd: Usd.describe("The lower of the policy's cap on open positions and that of the assessment."),
          remainingUsd: Usd.describe("What is left of `maxExposureUsd` beside the cost of the open positions."),
          balanceUsd: Usd,
        }),
      })
      .describe("A purchase."),
    sell: Verdict.describe("A sale of shares that the user holds, in the market or in any."),
    deposit: Verdict.describe("No rule refuses a deposit today."),
    withdraw: Verdict,
  })
  .meta({ id: "Eligibility" });

const { operatorRead, operatorChange } = operationsUnder("money", { extension: true });
const trading = operationsUnder("trading", { extension: true });

export const userOperations = {
  listUsers: operatorRead({
    path: "/v1/users",
    summary: "List users by id, filtered by status, jurisdiction, score, exposure or debt.",
    input: UserFilter,
    output: z.array(UserItem),
    paged: true,
  }),
  getUser: operatorRead({
    path: "/v1/users/:id",
    summary: "Get one user.",
    input: UserRef,
    output: User,
  }),
  getEligibility: trading.userRead({
    path: "/v1/eligibility",
    summary: "Say what the user may do now, and everything that stands against it.",
    input: z.object({ marketId: rulesOf }),
    output: Eligibility,
    refusals: ["MARKET_NOT_FOUND"],
  }),
  getUserEligibility: trading.operatorRead({
    path: "/v1/users/:id/eligibility",
    summary:
      "Say what one user may do now, and everything that stands against it. A jurisdiction that only the user's token claims is unknown here.",
    input: z.object({ id: UserId, marketId: rulesOf }),
    output: Eligibility,
    refusals: ["MARKET_NOT_FOUND"],
  }),
  creditWallet: operatorChange("funds", {
    path: "/v1/users/:id/credit",
    summary: "Credit a user's wallet by hand.",
    input: CreditInput,
    output: orProposal(Credited),
    refusals: ["MAX_CREDIT_EXCEEDED", "EXPECTATION_NOT_MET"],
  }),
  debitWallet: operatorChange("funds", {
    path: "/v1/users/:id/debit",
    summary: "Debit a user's wallet by hand, at most its balance.",
    input: DebitInput,
    output: Debited,
    refusals: ["INSUFFICIENT_FUNDS"],
  }),
  restrictUser: operatorChange("users", {
    path: "/v1/users/:id/restrict",
    summary: "Stop a user from trading and withdrawing.",
    input: UserRef,
    output: UserStateChange,
    refusals: [],
  }),
  releaseUser: operatorChange("users", {
    path: "/v1/users/:id/release",
    summary: "Lift a user's restriction.",
    input: UserRef,
    output: UserStateChange,
    refusals: [],
  }),
  revokeUser: operatorChange("users", {
    path: "/v1/users/:id/revoke",
    summary: "End a user's sessions: refuse tokens issued before an instant.",
    input: RevocationInput,
    output: SessionsRevoked,
    refusals: [],
    changes: "sessions",
  }),
};

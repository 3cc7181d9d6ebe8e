import { z } from "zod";
import { NoInput, operation } from "../operation.ts";
import { line, MarketId, PageCursor, PageLimit, Timestamp, text, Usd, UsdAmount, UserId } from "../scalars.ts";
import { StoredUserId } from "../stored.ts";

export const Wallet = z
  .object({
    balanceUsd: Usd,
    exposureUsd: Usd.meta({ description: "The cost of open positions." }),
    pendingWithdrawalsUsd: Usd,
  })
  .meta({ id: "Wallet" });

/** One change of a wallet. `type` is that of the audit entry behind it. */
export const StatementEntry = z
  .object({
    seq: z.number().int(),
    ts: Timestamp,
    type: z.string().meta({ examples: ["trade.executed"] }),
    amount: Usd.meta({ description: "Positive into the wallet, negative out of it." }),
    balance: Usd.meta({ description: "Of the wallet after it." }),
    marketId: MarketId.optional(),
    tradeId: z.string().optional(),
    withdrawalId: z.string().optional(),
    reference: z.string().optional().meta({ description: "The provider's own." }),
  })
  .meta({ id: "StatementEntry" });

export const StatementFilter = z.object({
  limit: PageLimit.optional(),
  cursor: PageCursor.optional(),
  format: z
    .enum(["json", "csv"])
    .default("json")
    .meta({ description: "`csv` answers with a table, 10,000 rows unless `limit` says less." }),
});

export const WithdrawalStatus = z.enum(["pending", "approved", "rejected"]).meta({ id: "WithdrawalStatus" });
const withdrawal = { withdrawalId: z.string(), status: WithdrawalStatus, amount: Usd, createdAt: Timestamp };
export const WithdrawalRequested = z.object(withdrawal).meta({ id: "WithdrawalRequested" });
export const Withdrawal = z.object({ ...withdrawal, userId: StoredUserId }).meta({ id: "Withdrawal" });
export const WithdrawalFilter = z.object({
  status: WithdrawalStatus.optional(),
  limit: PageLimit.default(50),
  cursor: PageCursor.optional(),
});
const WithdrawalRef = z.object({ id: text(64) });

export const UserState = z.enum(["unverified", "verified", "rejected", "restricted"]).meta({ id: "UserState" });
const UserRef = z.object({ id: UserId });

export const User = z
  .object({
    userId: StoredUserId,
    state: UserState,
    kyc: z.enum(["unverified", "verified", "rejected"]).meta({ description: "What a restriction hides." }),
    jurisdiction: z.string().nullable(),
    suitabilityScore: z.number().int().nullable(),
    ...Wallet.shape,
    createdAt: Timestamp,
    revokeBefore: Timestamp.nullable().meta({
      description: "Tokens issued before it are refused; null while no session was revoked.",
    }),
  })
  .meta({ id: "User" });

export const RevocationInput = z
  .object({
    id: UserId,
    revokeBefore: Timestamp.optional().meta({
      description: "Tokens issued before it are refused; now, unless given. It never moves backwards.",
    }),
  })
  .meta({ id: "RevocationInput" });
export const SessionsRevoked = z
  .object({ userId: StoredUserId, revokeBefore: Timestamp.meta({ description: "What stands from now on." }) })
  .meta({ id: "SessionsRevoked" });

export const UserStateChange = z.object({ userId: StoredUserId, state: UserState }).meta({ id: "UserStateChange" });

export const CreditInput = z
  .object({
    id: UserId,
    amount: UsdAmount.refine((micro) => micro <= 1_000_000_000_000_000n, "must be at most 1000000000"),
    reason: line(500).optional().meta({ description: "Why; required here or in the header `Audit-Reason`." }),
  })
  .meta({ id: "CreditInput" });
export const Credited = z.object({ userId: StoredUserId, amount: Usd, balanceUsd: Usd, ts: Timestamp }).meta({
  id: "Credited",
});

export const fundingOperations = {
  getWallet: operation({
    method: "GET",
    path: "/v1/wallet",
    auth: "user",
    summary: "The user's money.",
    input: NoInput,
    output: Wallet,
    extension: true,
  }),
  listStatement: operation({
    method: "GET",
    path: "/v1/statement",
    auth: "user",
    summary: "Every change of the user's wallet, newest first.",
    input: StatementFilter,
    output: z.array(StatementEntry),
    paged: true,
    csv: true,
    extension: true,
  }),
  requestWithdrawal: operation({
    method: "POST",
    path: "/v1/withdrawals",
    auth: "user",
    summary: "Ask for money to be paid out.",
    input: z.object({ amount: UsdAmount }).meta({ id: "WithdrawalInput" }),
    output: WithdrawalRequested,
    writes: true,
    extension: true,
  }),
  listWithdrawals: operation({
    method: "GET",
    path: "/v1/withdrawals",
    auth: "admin",
    scope: "read",
    summary: "Withdrawals, newest first.",
    input: WithdrawalFilter,
    output: z.array(Withdrawal),
    paged: true,
    extension: true,
  }),
  approveWithdrawal: operation({
    method: "POST",
    path: "/v1/withdrawals/:id/approve",
    auth: "admin",
    scope: "funds",
    summary: "Send the money out.",
    input: WithdrawalRef,
    output: Withdrawal,
    writes: true,
    extension: true,
  }),
  rejectWithdrawal: operation({
    method: "POST",
    path: "/v1/withdrawals/:id/reject",
    auth: "admin",
    scope: "funds",
    summary: "Give the money back.",
    input: WithdrawalRef,
    output: Withdrawal,
    writes: true,
    extension: true,
  }),
  getUser: operation({
    method: "GET",
    path: "/v1/users/:id",
    auth: "admin",
    scope: "read",
    summary: "One user.",
    input: UserRef,
    output: User,
    extension: true,
  }),
  creditWallet: operation({
    method: "POST",
    path: "/v1/users/:id/credit",
    auth: "admin",
    scope: "funds",
    summary: "Put money into a user's wallet by hand.",
    input: CreditInput,
    output: Credited,
    writes: true,
    extension: true,
  }),
  restrictUser: operation({
    method: "POST",
    path: "/v1/users/:id/restrict",
    auth: "admin",
    scope: "users",
    summary: "Stop a user from trading and withdrawing.",
    input: UserRef,
    output: UserStateChange,
    writes: true,
    extension: true,
  }),
  releaseUser: operation({
    method: "POST",
    path: "/v1/users/:id/release",
    auth: "admin",
    scope: "users",
    summary: "Lift a restriction.",
    input: UserRef,
    output: UserStateChange,
    writes: true,
    extension: true,
  }),
  revokeUser: operation({
    method: "POST",
    path: "/v1/users/:id/revoke",
    auth: "admin",
    scope: "users",
    summary: "End the sessions of a user: tokens issued before an instant are refused.",
    input: RevocationInput,
    output: SessionsRevoked,
    writes: true,
    extension: true,
  }),
};

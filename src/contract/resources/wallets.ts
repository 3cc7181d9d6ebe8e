import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import {
  MarketId,
  Outcome,
  PageCursor,
  PageLimit,
  paging,
  Question,
  Timestamp,
  text,
  Usd,
  UsdAmount,
  UserId,
} from "../scalars.ts";
import { ExpectRestricted, orProposal } from "./ends/proposals.ts";

export const Wallet = z
  .object({
    balanceUsd: Usd,
    exposureUsd: Usd.describe("The cost of open positions."),
    pendingWithdrawalsUsd: Usd,
    owedUsd: Usd.describe(
      "Refunds, disputes and corrections of settlements that the wallet could not cover; the next payment repays them first.",
    ),
  })
  .meta({ id: "Wallet" });

/** One change of a wallet or of its user's debt. `type` is the audit entry's type. */
export const StatementEntry = z
  .object({
    seq: z.number().int(),
    ts: Timestamp,
    type: z.string().meta({ examples: ["trade.executed"] }),
    amount: Usd.describe("Positive for money into the wallet, negative for money out of it."),
    owed: Usd.optional().describe(
      "On a separate line with an amount of 0: the increase of the user's debt, or its repayment as a negative number.",
    ),
    balance: Usd.describe("The wallet's balance after this change."),
    marketId: MarketId.optional(),
    tradeId: z.string().optional(),
    withdrawalId: z.string().optional(),
    reference: z.string().optional().describe("The provider's reference."),
    from: Outcome.optional().describe("Extension: of a correction, the outcome until then."),
    outcome: Outcome.optional().describe("Extension: how the market ended, or its outcome after a correction."),
    reason: z.string().optional().describe("Extension: why the market was voided or corrected."),
    question: Question.optional().describe("Extension: the market's question."),
  })
  .meta({ id: "StatementEntry" });

export const StatementFilter = z.object({
  limit: PageLimit.optional(),
  cursor: PageCursor.optional(),
  format: z
    .enum(["json", "csv"])
    .default("json")
    .describe("`csv` returns a table of at most 10,000 rows, or of `limit` rows."),
});

export const WithdrawalStatus = z.enum(["pending", "approved", "rejected"]).meta({ id: "WithdrawalStatus" });
const withdrawal = { withdrawalId: z.string(), status: WithdrawalStatus, amount: Usd, createdAt: Timestamp };
export const WithdrawalRequested = z.object(withdrawal).meta({ id: "WithdrawalRequested" });
export const Withdrawal = z.object({ ...withdrawal, userId: UserId }).meta({ id: "Withdrawal" });
export const WithdrawalFilter = z.object({
  status: WithdrawalStatus.optional(),
  userId: UserId.optional().describe("Only withdrawals of this user."),
  ...paging,
});
const WithdrawalRef = z.object({ id: text(64) });

const { userRead, userChange, operatorRead, operatorChange } = operationsUnder("money", { extension: true });

export const walletOperations = {
  getWallet: userRead({
    path: "/v1/wallet",
    summary: "Get the user's balance, exposure and pending withdrawals.",
    output: Wallet,
  }),
  listStatement: userRead({
    path: "/v1/statement",
    summary: "List every change of the user's wallet, newest first.",
    input: StatementFilter,
    output: z.array(StatementEntry),
    paged: true,
    csv: true,
  }),
  listUserStatement: operatorRead({
    path: "/v1/users/:id/statement",
    summary: "List every change of one user's wallet, newest first, as the user's own statement does.",
    input: z.object({ id: UserId, ...StatementFilter.shape }),
    output: z.array(StatementEntry),
    paged: true,
    csv: true,
  }),
  requestWithdrawal: userChange({
    path: "/v1/withdrawals",
    summary: "Request a withdrawal; its amount is reserved at once.",
    input: z.object({ amount: UsdAmount }).meta({ id: "WithdrawalInput" }),
    output: WithdrawalRequested,
    refusals: ["INSUFFICIENT_FUNDS"],
  }),
  listWithdrawals: operatorRead({
    path: "/v1/withdrawals",
    summary: "List withdrawals, newest first.",
    input: WithdrawalFilter,
    output: z.array(Withdrawal),
    paged: true,
  }),
  approveWithdrawal: operatorChange("funds", {
    path: "/v1/withdrawals/:id/approve",
    summary: "Approve a pending withdrawal; the money leaves the ledger.",
    input: WithdrawalRef.extend({ expectRestricted: ExpectRestricted }),
    output: orProposal(Withdrawal),
    refusals: ["WITHDRAWAL_DECIDED", "PROPOSAL_PENDING", "EXPECTATION_NOT_MET"],
  }),
  rejectWithdrawal: operatorChange("funds", {
    path: "/v1/withdrawals/:id/reject",
    summary: "Reject a pending withdrawal; the money returns to the wallet.",
    input: WithdrawalRef,
    output: Withdrawal,
    refusals: ["WITHDRAWAL_DECIDED"],
  }),
};

import { type Command, Option } from "commander";
import { everyPage } from "../../client/pages.ts";
import { payoutCautions } from "../../client/payout-cautions.ts";
import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import type { CommandContext } from "../command.ts";
import { defineCommand, defineList, verbs } from "../define-command.ts";
import { isKnownUser, knownUser, resolveId, unlessMissing } from "../input/names.ts";
import { decimal, identifier } from "../input/parsers.ts";
import { requireReason } from "../input/prompts.ts";
import { time, usd } from "../output/cells.ts";
import { instantColumn } from "../output/table.ts";

type Withdrawal = WireResult<"approveWithdrawal">;

interface WithdrawalFilter {
  status?: Withdrawal["status"];
  user?: string;
}

export const fundingList = defineList({
  name: "list",
  summary: "list withdrawals, newest first",
  takes: (command) =>
    command
      .addOption(new Option("--status <status>", "only this status").choices(["pending", "approved", "rejected"]))
      .option("--user <id>", "only withdrawals of this user", identifier),
  operation: "listWithdrawals",
  input: async ({ options: { status, user } }: CommandContext<WithdrawalFilter>, api) => ({
    status,
    userId: user && (await knownUser(user, api)),
  }),
  columns: [
    { title: "WITHDRAWAL", cell: ({ withdrawalId }) => withdrawalId, whole: true },
    { title: "USER", cell: ({ userId }) => userId },
    { title: "AMOUNT", cell: ({ amount }) => usd(amount), align: "right" },
    { title: "STATUS", cell: ({ status }) => status },
    instantColumn("ASKED", ({ createdAt }: Withdrawal) => createdAt, { optional: true }),
  ],
  empty: "No withdrawals.",
});

/** A command that approves or rejects a pending withdrawal. */
const decision = (
  name: string,
  operation: "approveWithdrawal" | "rejectWithdrawal",
  { summary, done }: { summary: string; done: string },
) =>
  defineCommand({
    name,
    summary: `${summary}; --reason says why`,
    takes: (command) => command.argument("<id>", "the withdrawal: its id, or an id prefix", identifier),
    operation,
    reasonFor: "The decision on a withdrawal",
    input: async ({ args: [id = ""] }, api, session) => ({ id: await resolveId("withdrawal", id, api, session) }),
    asks: async ({ id }, api) => {
      const { text, cautions } = await tellWithdrawal(id, api);
      const sentences = operation === "approveWithdrawal" ? cautions.map((each) => `${each}. `) : [];
      return `${sentences.join("")}${text}: ${done}?`;
    },
    fields: ({ withdrawalId, userId, amount, status, createdAt }) => [
      ["withdrawal", withdrawalId],
      ["user", userId],
      ["amount", usd(amount)],
      ["status", status],
      ["asked", time(createdAt, { seconds: true })],
    ],
  });

export const fundingApprove = decision("approve", "approveWithdrawal", {
  summary: "send a withdrawal's money out",
  done: "send the money out",
});
export const fundingReject = decision("reject", "rejectWithdrawal", {
  summary: "give a withdrawal's money back",
  done: "give it back to the wallet",
});

/**
 * Amount and owner of a pending withdrawal, and what speaks against paying it. The operation itself refuses one that is
 * not pending.
 */
async function tellWithdrawal(id: string, api: Api): Promise<{ text: string; cautions: readonly string[] }> {
  const pending = await everyPage((page) => api.listWithdrawals({ status: "pending", ...page }));
  const found = pending.find(({ withdrawalId }) => withdrawalId === id);
  if (!found) return { text: `The withdrawal ${id}`, cautions: [] };
  const user = await unlessMissing(api.getUser({ id: found.userId }));
  return {
    text: `${usd(found.amount)} USD of ${found.userId}`,
    cautions: user ? await payoutCautions(user, api) : [],
  };
}

interface MoneyOptions {
  user: string;
  /** In US dollars. */
  amount: number;
  reason?: string | undefined;
}

interface CreditOptions extends MoneyOptions {
  /** In US dollars. */
  expectBalance?: number | undefined;
  /** Accept a user whom the tenant has never seen. */
  newUser?: boolean | undefined;
}

const moneyOf = (command: Command, whose: string) =>
  command.requiredOption("--user <id>", whose, identifier).requiredOption("--amount <usd>", "how much", decimal);

const moneyByHand = (command: Command) => moneyOf(command, "the user whose wallet it is");

/** @throws Fault USAGE without a reason */
export function inputByHand(
  { user, amount, reason }: MoneyOptions,
  verb: "credit" | "debit",
): WireInput<"creditWallet"> {
  return { id: user, amount, reason: requireReason({ reason }, `A ${verb} by hand`) };
}

const movedFields =
  (verb: string) =>
  ({ userId, amount, balanceUsd, ts }: WireResult<"creditWallet">): [string, string][] => [
    ["user", userId],
    [verb, usd(amount)],
    ["balance", usd(balanceUsd)],
    ["time", time(ts, { seconds: true })],
  ];

export const fundingCredit = defineCommand({
  name: "credit",
  summary: "put money into a user's wallet by hand; --reason says why",
  takes: (command) =>
    moneyByHand(command)
      .option("--new-user", "allow a user whom the tenant has never seen")
      .option("--expect-balance <usd>", "credit nothing unless the wallet holds this before", decimal),
  operation: "creditWallet",
  reasonFor: "A credit by hand",
  input: async ({ options }: CommandContext<CreditOptions>, api) => {
    if (!options.newUser) await knownUser(options.user, api, "a new one needs --new-user");
    return { ...inputByHand(options, "credit"), expectBalanceUsd: options.expectBalance };
  },
  asks: async ({ id, amount }, api) =>
    `Credit ${usd(amount)} USD to ${id}${(await isKnownUser(id, api)) ? "" : ", a NEW user"}?`,
  fields: movedFields("credited"),
});

const fundingDebit = defineCommand({
  name: "debit",
  summary: "take back what was credited by hand, at most what the wallet holds; --reason says why",
  takes: moneyByHand,
  operation: "debitWallet",
  reasonFor: "A debit by hand",
  input: async ({ options }: CommandContext<MoneyOptions>, api) => {
    await knownUser(options.user, api);
    return inputByHand(options, "debit");
  },
  asks: async ({ id, amount }) => `Take ${usd(amount)} USD from ${id}?`,
  fields: movedFields("debited"),
});

/** Asks for a withdrawal on a user's behalf. The audit log names the operator as the actor. */
const fundingRequest = defineCommand({
  name: "request",
  summary: "request a withdrawal on a user's behalf; the money is held until it is approved or rejected",
  takes: (command) => moneyOf(command, "whose money it is"),
  operation: "requestWithdrawal",
  input: ({ options: { amount } }: CommandContext<MoneyOptions>) => ({ amount }),
  onBehalfOf: ({ user }) => user,
  ofKnownUser: true,
  fields: ({ withdrawalId, status, amount, createdAt }) => [
    ["withdrawal", withdrawalId],
    ["amount", usd(amount)],
    ["status", status],
    ["asked", time(createdAt, { seconds: true })],
  ],
});

export const register = verbs(fundingList, fundingRequest, fundingApprove, fundingReject, fundingCredit, fundingDebit);

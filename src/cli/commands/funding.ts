import { type Command, Option } from "commander";
import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import { type CommandContext, type Host, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { isKnownUser, knownUser, resolveId } from "../input/names.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { decimal, identifier } from "../input/parsers.ts";
import { requireReason } from "../input/prompts.ts";
import { time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";

type Withdrawal = WireResult<"approveWithdrawal">;
type Status = Withdrawal["status"];

export interface ListOptions {
  status?: Status | undefined;
  limit?: number | undefined;
}

export interface CreditOptions {
  user: string;
  /** US dollars. */
  amount: number;
  reason?: string | undefined;
  /** The user need not be known. */
  newUser?: boolean | undefined;
}

export function register(noun: Command, host: Host): void {
  host.add<ListOptions>(
    noun
      .command("list")
      .description("withdrawals, newest first")
      .addOption(new Option("--status <status>", "only these").choices(["pending", "approved", "rejected"]))
      .addOption(limitOption()),
    { operation: "listWithdrawals" },
    ({ options, io }) => withSession(options, io, (session) => runFundingList(options, session.api(), io)),
  );
  for (const command of [fundingRequest, fundingApprove, fundingReject, fundingCredit, fundingDebit])
    command.register(noun, host);
}

const listView: View<readonly Withdrawal[], Withdrawal> = {
  kind: "list",
  rows: (withdrawals) => withdrawals,
  columns: [
    { title: "WITHDRAWAL", cell: ({ withdrawalId }) => withdrawalId, whole: true },
    { title: "USER", cell: ({ userId }) => userId },
    { title: "AMOUNT", cell: ({ amount }) => usd(amount), align: "right" },
    { title: "STATUS", cell: ({ status }) => status },
    instantColumn("ASKED", ({ createdAt }) => createdAt, { optional: true }),
  ],
  empty: "No withdrawals.",
};

const withdrawalView: View<Withdrawal, Withdrawal> = {
  kind: "record",
  fields: ({ withdrawalId, userId, amount, status, createdAt }) => [
    ["withdrawal", withdrawalId],
    ["user", userId],
    ["amount", usd(amount)],
    ["status", status],
    ["asked", time(createdAt, { seconds: true })],
  ],
};

export async function runFundingList(options: ListOptions, api: Api, { output }: Io): Promise<void> {
  const { status, limit = DEFAULT_LIMIT } = options;
  const { items: withdrawals, nextCursor } = await readPages(limit, (page) => api.listWithdrawals({ status, ...page }));
  await output.print(withdrawals, listView);
  if (nextCursor !== null) output.note(`There are more than these ${withdrawals.length}: raise --limit.`);
}

/** A command that decides on a pending withdrawal. */
const decision = (
  name: string,
  operation: "approveWithdrawal" | "rejectWithdrawal",
  { summary, done }: { summary: string; done: string },
) =>
  defineCommand({
    name,
    summary: `${summary}; --reason says why`,
    takes: (command) => command.argument("<id>", "the withdrawal, or the beginning of its id", identifier),
    operation,
    check: ({ options }) => void requireReason(options, "The decision on a withdrawal"),
    input: async ({ args: [id = ""] }, api, session) => ({ id: await resolveId("withdrawal", id, api, session) }),
    asks: async ({ id }, api) => `${await withdrawalText(id, api)}: ${done}?`,
    view: withdrawalView,
  });

export const fundingApprove = decision("approve", "approveWithdrawal", {
  summary: "send a withdrawal's money out",
  done: "send the money out",
});
export const fundingReject = decision("reject", "rejectWithdrawal", {
  summary: "give a withdrawal's money back",
  done: "give it back to the wallet",
});

/** Money and owner of a pending withdrawal; one that is not found among them is refused by the operation itself. */
async function withdrawalText(id: string, api: Api): Promise<string> {
  for (let cursor: string | undefined; ; ) {
    const { items, nextCursor } = await api.listWithdrawals({ status: "pending", limit: 200, cursor });
    const found = items.find(({ withdrawalId }) => withdrawalId === id);
    if (found) return `${usd(found.amount)} USD of ${found.userId}`;
    if (nextCursor === null) return `The withdrawal ${id}`;
    cursor = nextCursor;
  }
}

const moneyByHand = (command: Command) =>
  command
    .requiredOption("--user <id>", "the user whose wallet it is", identifier)
    .requiredOption("--amount <usd>", "how much", decimal);

const movedView = (verb: string): View<WireResult<"creditWallet">, never> => ({
  kind: "record",
  fields: ({ userId, amount, balanceUsd, ts }) => [
    ["user", userId],
    [verb, usd(amount)],
    ["balance", usd(balanceUsd)],
    ["time", time(ts, { seconds: true })],
  ],
});

export const fundingCredit = defineCommand({
  name: "credit",
  summary: "put money into a user's wallet by hand; --reason says why",
  takes: (command) => moneyByHand(command).option("--new-user", "also a user whom the tenant has never seen"),
  operation: "creditWallet",
  check: ({ options }: CommandContext<CreditOptions>) => void creditInput(options),
  input: async ({ options }, api) => {
    if (!options.newUser) await knownUser(options.user, api, "a new one needs --new-user");
    return creditInput(options);
  },
  asks: async ({ id, amount }, api) =>
    `Credit ${usd(amount)} USD to ${id}${(await isKnownUser(id, api)) ? "" : ", a NEW user"}?`,
  view: movedView("credited"),
});

export const fundingDebit = defineCommand({
  name: "debit",
  summary: "take back what was credited by hand, at most what the wallet holds; --reason says why",
  takes: moneyByHand,
  operation: "debitWallet",
  check: ({ options }: CommandContext<CreditOptions>) => void debitInput(options),
  input: async ({ options }, api) => {
    await knownUser(options.user, api);
    return debitInput(options);
  },
  asks: async ({ id, amount }) => `Take ${usd(amount)} USD from ${id}?`,
  view: movedView("debited"),
});

/** @throws Fault USAGE without a reason */
export function creditInput({ user, amount, reason }: CreditOptions): WireInput<"creditWallet"> {
  return { id: user, amount, reason: requireReason({ reason }, "A credit by hand") };
}

function debitInput({ user, amount, reason }: CreditOptions): WireInput<"debitWallet"> {
  return { id: user, amount, reason: requireReason({ reason }, "A debit by hand") };
}

/** A user asks for a withdrawal; the operator who types it is the actor on record. */
export const fundingRequest = defineCommand({
  name: "request",
  summary: "ask for a withdrawal on a user's behalf; its money is held until it is approved or rejected",
  takes: (command) =>
    command
      .requiredOption("--user <id>", "whose money it is", identifier)
      .requiredOption("--amount <usd>", "how much", decimal),
  operation: "requestWithdrawal",
  input: ({ options: { amount } }: CommandContext<{ user: string; amount: number }>) => ({ amount }),
  onBehalfOf: ({ user }) => user,
  view: {
    kind: "record",
    fields: ({ withdrawalId, status, amount, createdAt }) => [
      ["withdrawal", withdrawalId],
      ["amount", usd(amount)],
      ["status", status],
      ["asked", time(createdAt, { seconds: true })],
    ],
  },
});

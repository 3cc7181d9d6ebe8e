import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { decimal, identifier } from "../input/parsers.ts";
import { time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Withdrawal = WireResult<"approveWithdrawal">;
type Credited = WireResult<"creditWallet">;
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
}

export function register(noun: Command, host: Host): void {
  noun
    .command("list")
    .description("withdrawals, newest first")
    .addOption(new Option("--status <status>", "only these").choices(["pending", "approved", "rejected"]))
    .addOption(limitOption())
    .action(
      host.action<ListOptions>(({ options, io }) =>
        withSession(options, io, (session) => runFundingList(options, session.api(), io)),
      ),
    );
  for (const [verb, description] of [
    ["approve", "send a withdrawal's money out"],
    ["reject", "give a withdrawal's money back"],
  ] as const)
    noun
      .command(verb)
      .description(description)
      .argument("<id>", "the withdrawal", identifier)
      .action(
        host.action(({ options, args: [id = ""], io }) =>
          withSession(options, io, (session) => runFundingDecide({ id, verb }, session.api(), io)),
        ),
      );
  noun
    .command("credit")
    .description("put money into a user's wallet by hand; --reason says why")
    .requiredOption("--user <id>", "whose wallet", identifier)
    .requiredOption("--amount <usd>", "how much", decimal)
    .action(
      host.action<CreditOptions>(({ options, io }) => {
        requireReason(options);
        return withSession(options, io, (session) => runFundingCredit(options, session.api(), io));
      }),
    );
}

const listView: View<readonly Withdrawal[], Withdrawal> = {
  kind: "list",
  rows: (withdrawals) => withdrawals,
  columns: [
    { title: "WITHDRAWAL", cell: ({ withdrawalId }) => withdrawalId, whole: true },
    { title: "USER", cell: ({ userId }) => userId },
    { title: "AMOUNT", cell: ({ amount }) => usd(amount), align: "right" },
    { title: "STATUS", cell: ({ status }) => status },
    { title: "ASKED", cell: ({ createdAt }) => time(createdAt), optional: true },
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

const creditedView: View<Credited, Credited> = {
  kind: "record",
  fields: ({ userId, amount, balanceUsd, ts }) => [
    ["user", userId],
    ["credited", usd(amount)],
    ["balance", usd(balanceUsd)],
    ["time", time(ts, { seconds: true })],
  ],
};

export async function runFundingList(options: ListOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const { status, limit = DEFAULT_LIMIT } = options;
  const { items: withdrawals, nextCursor } = await readPages(limit, (page) => api.listWithdrawals({ status, ...page }));
  await output.print(withdrawals, listView);
  if (nextCursor !== null) output.note(`There are more than these ${withdrawals.length}: raise --limit.`);
  return EXIT.ok;
}

export async function runFundingDecide(
  { id, verb }: { id: string; verb: "approve" | "reject" },
  api: Api,
  { output }: Io,
): Promise<ExitCode> {
  const decided = await (verb === "approve" ? api.approveWithdrawal({ id }) : api.rejectWithdrawal({ id }));
  await output.print(decided, withdrawalView);
  return EXIT.ok;
}

/** @throws Fault USAGE without a reason */
export async function runFundingCredit(options: CreditOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const { user, amount } = options;
  await output.print(await api.creditWallet({ id: user, amount, reason: requireReason(options) }), creditedView);
  return EXIT.ok;
}

function requireReason({ reason }: CreditOptions): string {
  if (reason === undefined || reason.trim() === "")
    throw new Fault("USAGE", "Money by hand wants a reason on record: add --reason");
  return reason;
}

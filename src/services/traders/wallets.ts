import type { Input, Result } from "../../contract/operations.ts";
import { pendingOf, receivableOf, walletOf } from "../../domain/accounts.ts";
import { type AuditContent, contentOf } from "../../domain/audit/audit-payloads.ts";
import { Fault } from "../../domain/fault.ts";
import { outcomeOf } from "../../domain/market/outcome.ts";
import type { Command } from "../../engine/commands.ts";
import type { Withdrawal } from "../../engine/rows.ts";
import { readQuestions } from "../../queries/audit.ts";
import {
  listStatement,
  listWithdrawals,
  ownerOfWithdrawal,
  type StatementRow,
} from "../../queries/traders/statement.ts";
import { readWallet } from "../../queries/traders/traders.ts";
import { requireUser, type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { prepared, submitGoverned } from "../proposals/governed.ts";
import { MARKETS } from "../views/touched.ts";
import { requireTrader } from "./users.ts";

const JSON_PAGE = 50;
const CSV_PAGE = 10_000;

/** A user's wallet, statement and withdrawals, and credits by operators. */
export function walletHandlers(context: ServiceContext) {
  const { pool, views } = context;
  const walletView = views.share(
    (traderId: string) => traderId,
    async (traderId) => {
      const result = await pool.read((sql) => readWallet(sql, traderId));
      // A settlement ends the exposure even of users whom it pays nothing.
      const tags = [traderId, walletOf(traderId), pendingOf(traderId), receivableOf(traderId), MARKETS];
      return { result, tags, until: Number.POSITIVE_INFINITY };
    },
  );
  return {
    getWallet: async (_, caller) => walletView(requireUser(caller).id),
    listStatement: (input, caller) => statement(context, input, requireUser(caller)),
    listUserStatement: async (input) => {
      // Together, so that a wrong cursor is refused before an unknown user.
      const [entries] = await Promise.all([
        statement(context, input, input),
        pool.read((sql) => requireTrader(sql, input.id, context.isSealed)),
      ]);
      return entries;
    },
    requestWithdrawal: ({ amount }, caller) =>
      submit(
        context,
        "requestWithdrawal",
        {
          type: "requestWithdrawal",
          id: context.newId("wdr"),
          traderId: requireUser(caller).id,
          amountMicro: amount,
        },
        caller,
        withdrawalView,
      ),
    listWithdrawals: (input) => withdrawals(context, input),
    approveWithdrawal: async (input, caller) => {
      // A proposal does not keep what its proposer saw: each who agrees says what they see.
      const { expectRestricted: _, ...request } = input;
      const approval = await preparedApproval(context, input, caller);
      return submitGoverned(context, "approveWithdrawal", request, approval, caller);
    },
    rejectWithdrawal: (input, caller) => rejectWithdrawal(context, input, caller),
    creditWallet: (input, caller) => creditWallet(context, input, caller),
    debitWallet: (input, caller) => debitWallet(context, input, caller),
  } satisfies Handlers;
}

function withdrawalView({ id, traderId, amountMicro, status, createdAt }: Withdrawal): Result<"approveWithdrawal"> {
  return { withdrawalId: id, userId: traderId, status, amount: amountMicro, createdAt };
}

async function withdrawals({ pool, cursors }: ServiceContext, input: Input<"listWithdrawals">) {
  const { status, userId: traderId, limit } = input;
  const list = cursors.list("listWithdrawals", input);
  const [before] = list.reached(["string"]) ?? [];
  const rows = await pool.read((sql) => listWithdrawals(sql, { status, traderId, before, limit: limit + 1 }));
  const { page, nextCursor } = list.page(rows, limit, ({ id }) => [id]);
  return { items: page.map(withdrawalView), nextCursor };
}

/** The owner never changes, so it may be read before the command; the sequencer makes the decision itself. */
async function decisionOf({ pool }: ServiceContext, id: string, approve: boolean, by: string) {
  const traderId = await pool.read((sql) => ownerOfWithdrawal(sql, id));
  if (traderId === undefined) throw new Fault("NOT_FOUND", "Withdrawal not found");
  return { type: "decideWithdrawal", id, traderId, approve, by } as const;
}

export async function preparedApproval(
  context: ServiceContext,
  { id, expectRestricted }: Input<"approveWithdrawal">,
  caller: Caller,
) {
  return prepared<"approveWithdrawal", Command<"decideWithdrawal">>({
    command: { ...(await decisionOf(context, id, true, caller.actor)), expectRestricted },
    answer: withdrawalView,
  });
}

async function rejectWithdrawal(context: ServiceContext, { id }: Input<"rejectWithdrawal">, caller: Caller) {
  const command = await decisionOf(context, id, false, caller.actor);
  return submit(context, "rejectWithdrawal", command, caller, (result) => withdrawalView(result as Withdrawal));
}

export function preparedCredit(
  context: ServiceContext,
  { id: traderId, amount: amountMicro, reason, expectBalanceUsd: expectedMicro }: Input<"creditWallet">,
) {
  const id = context.newId("crd");
  return prepared<"creditWallet", Command<"creditWallet">>({
    command: { type: "creditWallet", id, traderId, amountMicro, reason, expectedMicro },
    answer: balanceView(traderId, amountMicro),
  });
}

const balanceView = (userId: string, amount: bigint) => (balance: { balanceMicro: bigint; ts: number }) => ({
  ...{ userId, amount, balanceUsd: balance.balanceMicro, ts: balance.ts },
});

/** Money without a provider's payment needs a recorded reason. */
function reasonOf({ reason }: Input<"debitWallet">, caller: Caller): string {
  const words = reason ?? caller.reason;
  if (words === undefined || words.trim() === "") throw new Fault("BAD_REQUEST", "reason: is required");
  return words;
}

async function creditWallet(context: ServiceContext, given: Input<"creditWallet">, caller: Caller) {
  const input = { ...given, reason: reasonOf(given, caller) };
  const credit = preparedCredit(context, input);
  // A proposal is executed after other changes of the balance, which its approvers see.
  const { expectBalanceUsd: _, ...request } = input;
  return submitGoverned(context, "creditWallet", request, credit, { ...caller, reason: input.reason });
}

async function debitWallet(context: ServiceContext, input: Input<"debitWallet">, caller: Caller) {
  const reason = reasonOf(input, caller);
  const { id: traderId, amount: amountMicro } = input;
  const command = { type: "debitWallet", id: context.newId("deb"), traderId, amountMicro } as const;
  return submit(context, "debitWallet", command, { ...caller, reason }, balanceView(traderId, amountMicro));
}

/** A cursor contains the next entry and the balance after it, which no later entry changes. */
async function statement(
  { pool, cursors }: ServiceContext,
  input: Input<"listStatement">,
  user: NonNullable<Caller["user"]>,
): Promise<Result<"listStatement">> {
  const { id: traderId } = user;
  const list = cursors.list("listStatement", input, user);
  const [seq, leg, balance] = list.reached(["number", "number", "string"]) ?? [];
  const limit = input.limit ?? (input.format === "csv" ? CSV_PAGE : JSON_PAGE);
  const from =
    seq === undefined || leg === undefined || balance === undefined
      ? undefined
      : { seq, leg, balanceMicro: BigInt(balance) };
  const query = { traderId, wallet: walletOf(traderId), receivable: receivableOf(traderId), from, limit: limit + 1 };
  const rows = await pool.read((sql) => listStatement(sql, query));
  const entries = rows.slice(0, limit).map(entryOf);
  const questions = await pool.read((sql) =>
    readQuestions(
      sql,
      entries.flatMap(({ marketId }) => marketId ?? []),
    ),
  );
  const next = rows[limit];
  return {
    items: entries.map((entry) => withQuestion(entry, questions)),
    nextCursor: next ? list.cursorAt([next.seq, next.leg, String(next.balanceMicro)]) : null,
  };
}

function entryOf({ seq, ts, type, amountMicro, owedMicro, balanceMicro, payload }: StatementRow): StatementEntry {
  return {
    seq,
    ts: Date.parse(ts),
    type,
    amount: amountMicro,
    ...(owedMicro === 0n ? {} : { owed: owedMicro }),
    balance: balanceMicro,
    ...causeOf(contentOf({ type, payloadText: payload })),
  };
}

function withQuestion(entry: StatementEntry, questions: ReadonlyMap<string, string>): StatementEntry {
  const question = entry.marketId === undefined ? undefined : questions.get(entry.marketId);
  return question === undefined ? entry : { ...entry, question };
}

type StatementEntry = Result<"listStatement">["items"][number];
type Cause = Partial<
  Pick<StatementEntry, "marketId" | "tradeId" | "withdrawalId" | "reference" | "from" | "outcome" | "reason">
>;

/** The market with its end, trade, withdrawal or reference of an entry that moved money. */
function causeOf(content: AuditContent | undefined): Cause {
  switch (content?.type) {
    case "trade.executed":
      return { marketId: content.payload.marketId, tradeId: content.payload.tradeId };
    case "market.settled":
      return { marketId: content.payload.marketId, outcome: outcomeOf(content.payload.outcome) };
    case "market.voided":
      return { marketId: content.payload.marketId, outcome: "void", reason: content.payload.reason };
    case "market.corrected": {
      const { marketId, from, outcome, reason } = content.payload;
      return { marketId, from: outcomeOf(from), outcome: outcomeOf(outcome), reason };
    }
    case "withdrawal.requested":
    case "withdrawal.approved":
    case "withdrawal.rejected":
      return { withdrawalId: content.payload.withdrawalId };
    case "wallet.credited":
    case "wallet.debited":
      return { reference: content.payload.txRef };
    default:
      return {};
  }
}

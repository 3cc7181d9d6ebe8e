import { type Command, Option } from "commander";
import type { Session } from "../../app/tenant/session.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { UserState } from "../../contract/resources/users.ts";
import { Fault } from "../../domain/fault.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { knownUser, marketToFilterBy } from "../input/names.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { decimal, identifier, wholeNumber } from "../input/parsers.ts";
import { cents, orDash, price, shares, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";

type User = WireResult<"listUsers">["items"][number];
type Order = WireResult<"listOrders">["items"][number];
type Entry = WireResult<"listStatement">["items"][number];

export interface UserFilter {
  q?: string;
  state?: User["state"];
  minScore?: number;
  maxScore?: number;
  jurisdiction?: string;
  minExposure?: number;
  limit?: number;
}

/** Lists of users, and what one user has traded, moved and holds. */
export function registerAccounts(noun: Command, host: Host): void {
  host.add<UserFilter>(
    noun
      .command("list")
      .description("users by id: all, or those of a standing, a place, a score or an exposure")
      .option("--q <text>", "part of the id", identifier)
      .addOption(new Option("--state <state>", "only these").choices(UserState.options))
      .option("--min-score <n>", "with at least this suitability score", wholeNumber)
      .option("--max-score <n>", "with at most this suitability score", wholeNumber)
      .option("--jurisdiction <code>", "only of this jurisdiction, such as GB", identifier)
      .option("--min-exposure <usd>", "whose open positions cost at least this", decimal)
      .addOption(limitOption()),
    { operation: "listUsers" },
    ({ options, io }) => withSession(options, io, (session) => runUserList(options, session.api(), io)),
  );
  host.add<{ market?: string; limit?: number }>(
    theUser(noun.command("orders").description("a user's trades, newest first"))
      .option("--market <id>", "only in this market: its id, the beginning of it, its key or @last", identifier)
      .addOption(limitOption()),
    { operation: "listOrders" },
    ({ options, args: [user], io }) =>
      withSession(options, io, async (session) => {
        const { market, limit } = options;
        const marketId = await marketToFilterBy(market, session.api(), session);
        return runUserOrders({ marketId, limit }, await ofUser(user, session), io);
      }),
  );
  host.add<{ limit?: number }>(
    theUser(
      noun.command("statement").description("what went into a user's wallet and out of it, newest first"),
    ).addOption(limitOption()),
    { operation: "listStatement" },
    ({ options, args: [user], io }) =>
      withSession(options, io, async (session) => runUserStatement(options, await ofUser(user, session), io)),
  );
  host.add(
    theUser(noun.command("portfolio").description("a user's standing, money, positions and latest settlements")),
    { operation: "getPortfolio" },
    ({ options, args: [user], io }) =>
      withSession(options, io, async (session) => runPortfolio(await ofUser(user, session), io)),
  );
  host.add(
    theUser(
      noun.command("session").description("start a session at the server, as the widget does for a signed-in user"),
    ),
    { operation: "createSession" },
    ({ options, args: [user], io }) =>
      withSession(options, io, async (session) => {
        if (session.services !== undefined)
          throw new Fault(
            "USAGE",
            "Only a running server has sessions: start one with pmctl serve, and add --via http",
          );
        await io.output.print(await session.api(user).createSession({}), sessionView);
      }),
  );
}

/** The operations as a user whom the tenant has seen. */
async function ofUser(user = "", session: Session): Promise<Api> {
  return session.api(await knownUser(user, session.api()));
}

const theUser = (command: Command) => command.argument("<id>", "the user", identifier);

export async function runUserList(filter: UserFilter, api: Api, { output }: Io): Promise<void> {
  const { q, state, minScore, maxScore, jurisdiction, minExposure, limit = DEFAULT_LIMIT } = filter;
  const { items: users, nextCursor } = await readPages(limit, (page) =>
    api.listUsers({ q, state, minScore, maxScore, jurisdiction, minExposureUsd: minExposure, ...page }),
  );
  await output.print(users, listView);
  if (nextCursor !== null) output.note(`There are more than these ${users.length}: raise --limit.`);
}

export async function runUserOrders(
  { marketId, limit = DEFAULT_LIMIT }: { marketId?: string | undefined; limit?: number | undefined },
  api: Api,
  { output }: Io,
): Promise<void> {
  const { items: orders, nextCursor } = await readPages(limit, (page) => api.listOrders({ marketId, ...page }));
  await output.print(orders, ordersView);
  if (nextCursor !== null) output.note(`There are more than these ${orders.length}: raise --limit.`);
}

export async function runUserStatement(
  { limit = DEFAULT_LIMIT }: { limit?: number | undefined },
  api: Api,
  { output }: Io,
): Promise<void> {
  const { items: entries, nextCursor } = await readPages(limit, (page) => api.listStatement(page));
  await output.print(entries, statementView);
  if (nextCursor !== null) output.note(`There are more than these ${entries.length}: raise --limit.`);
}

export async function runPortfolio(api: Api, { output }: Io): Promise<void> {
  await output.print(await api.getPortfolio({}), portfolioView);
}

const listView: View<readonly User[], User> = {
  kind: "list",
  rows: (users) => users,
  columns: [
    { title: "USER", cell: ({ userId }) => userId, whole: true },
    { title: "STATE", cell: ({ state }) => state, whole: true },
    { title: "PLACE", cell: ({ jurisdiction }) => orDash(jurisdiction) },
    {
      title: "SCORE",
      cell: ({ suitabilityScore }) => orDash(suitabilityScore?.toString()),
      align: "right",
      optional: true,
    },
    { title: "BALANCE", cell: ({ balanceUsd }) => cents(balanceUsd), align: "right" },
    { title: "EXPOSURE", cell: ({ exposureUsd }) => cents(exposureUsd), align: "right" },
    instantColumn("SINCE", ({ createdAt }) => createdAt, { whole: true, optional: true }),
  ],
  empty: "No user matches.",
};

const ordersView: View<readonly Order[], Order> = {
  kind: "list",
  rows: (orders) => orders,
  columns: [
    { title: "QUESTION", cell: ({ question }) => question, least: 16 },
    { title: "SIDE", cell: ({ side, action }) => (action === "sell" ? `${side}, sold` : side) },
    { title: "SHARES", cell: (order) => shares(order.shares), align: "right" },
    { title: "AMOUNT", cell: ({ amount }) => usd(amount), align: "right" },
    { title: "PRICE", cell: ({ avgPrice }) => price(avgPrice), align: "right", optional: true },
    { title: "TIME", cell: ({ ts }) => time(ts), whole: true },
    { title: "TRADE", cell: ({ tradeId }) => tradeId, whole: true, optional: true },
  ],
  empty: "No trades.",
};

const statementView: View<readonly Entry[], Entry> = {
  kind: "list",
  rows: (entries) => entries,
  columns: [
    { title: "TIME", cell: ({ ts }) => time(ts), whole: true },
    { title: "WHAT", cell: ({ type }) => type, whole: true },
    { title: "AMOUNT", cell: ({ amount }) => usd(amount), align: "right" },
    { title: "BALANCE", cell: ({ balance }) => usd(balance), align: "right" },
    {
      title: "OF",
      cell: ({ tradeId, withdrawalId, marketId, reference }) =>
        orDash(tradeId ?? withdrawalId ?? marketId ?? reference),
      optional: true,
    },
  ],
  empty: "Nothing went into the wallet or out of it.",
};

type Portfolio = WireResult<"getPortfolio">;

const portfolioView: View<Portfolio, Portfolio> = {
  kind: "record",
  fields: ({ state, suitability, wallet, positions, sellValueUsd, settlements }) => [
    ["state", state],
    ["suitability", suitability.score === undefined ? "-" : String(suitability.score)],
    ["balance", usd(wallet.balanceUsd)],
    ["exposure", usd(wallet.exposureUsd)],
    ["pending withdrawals", usd(wallet.pendingWithdrawalsUsd)],
    ["owed", usd(wallet.owedUsd)],
    ["positions sell for", usd(sellValueUsd)],
    ...positions.map((each): [string, string] => [
      "holds",
      `${shares(each.shares)} ${each.side} of ${each.question}, bought at ${price(each.avgCost)}: sells for ${usd(each.sellValue)} (${each.sellPnl < 0 ? "" : "+"}${usd(each.sellPnl)})`,
    ]),
    ...settlements.map((each): [string, string] => [
      "settled",
      `${shares(each.shares)} ${each.side} of ${each.question}: ${each.outcome} won, paid ${usd(each.payout)}`,
    ]),
  ],
};

const sessionView: View<WireResult<"createSession">, WireResult<"createSession">> = {
  kind: "record",
  fields: ({ userId, expiresAt }) => [
    ["user", userId],
    ["until", time(expiresAt, { seconds: true })],
  ],
};

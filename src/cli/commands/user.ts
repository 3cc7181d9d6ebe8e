import { type Command, Option } from "commander";
import { USER_STATES } from "../../contract/constants.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { isoTime, wallClockMs } from "../../domain/time/clock.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import { userStory } from "../audit/story.ts";
import type { CommandContext, CommandModule } from "../command.ts";
import { defineCommand, defineList, verbs } from "../define-command.ts";
import { NOT_CONFIRMED, READS_FILES } from "../errors.ts";
import { isKnownUser, knownUser, marketToFilterBy } from "../input/names.ts";
import { decimal, identifier, timeAgo, timeSpan, wholeNumber } from "../input/parsers.ts";
import { declined, mustAsk } from "../input/prompts.ts";
import { cents, orDash, price, shares, time, usd } from "../output/cells.ts";
import { instantColumn } from "../output/table.ts";
import { userEligibility } from "./user-eligibility.ts";
import { settledWords, subjectOf } from "./user-lines.ts";

const theUser = (command: Command) => command.argument("<id>", "the user", identifier);

/** Reads as the user whom the line names. The tenant must have seen that user. */
const asTheUser = { onBehalfOf: (_: object, [id]: readonly string[]) => id, ofKnownUser: true } as const;

/** The user whom the line names. */
const ofTheUser = async ({ args: [id = ""] }: CommandContext<object>, api: Api) => ({ id: await knownUser(id, api) });

type User = WireResult<"listUsers">["items"][number];

interface UserFilter {
  q?: string;
  state?: User["state"];
  minScore?: number;
  maxScore?: number;
  jurisdiction?: string;
  minExposure?: number;
  minOwed?: number;
}

const userList = defineList({
  name: "list",
  summary: "list users, filtered by status, jurisdiction, score, exposure or debt",
  takes: (command) =>
    command
      .option("--q <text>", "only ids with this text", identifier)
      .addOption(new Option("--state <state>", "only users in this state").choices(USER_STATES))
      .option("--min-score <n>", "only users with at least this suitability score", wholeNumber)
      .option("--max-score <n>", "only users with at most this suitability score", wholeNumber)
      .option("--jurisdiction <code>", "only users of this jurisdiction, such as GB", identifier)
      .option("--min-exposure <usd>", "only users whose open positions cost at least this", decimal)
      .option("--min-owed <usd>", "only users who owe at least this, such as 0.01", decimal),
  operation: "listUsers",
  input: ({ options }: CommandContext<UserFilter>) => {
    const { minExposure: minExposureUsd, minOwed: minOwedUsd } = options;
    const { q, state, minScore, maxScore, jurisdiction } = options;
    return { q, state, minScore, maxScore, jurisdiction, minExposureUsd, minOwedUsd };
  },
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
    { title: "OWED", cell: ({ owedUsd }) => cents(owedUsd), align: "right", optional: true },
    instantColumn("SINCE", ({ createdAt }: User) => createdAt, { whole: true, optional: true }),
  ],
  empty: "No user matches.",
});

const userOrders = defineList({
  name: "orders",
  summary: "list a user's trades, newest first",
  takes: (command) =>
    theUser(command).option(
      "--market <id>",
      "only trades in this market: its id, an id prefix, its key or @last",
      identifier,
    ),
  operation: "listOrders",
  ...asTheUser,
  input: async ({ options }: CommandContext<{ market?: string }>, _, session) => ({
    marketId: await marketToFilterBy(options.market, session.api(), session),
  }),
  columns: [
    { title: "QUESTION", cell: ({ question }) => question, least: 16 },
    { title: "SIDE", cell: ({ side, action }) => (action === "sell" ? `${side}, sold` : side) },
    { title: "SHARES", cell: (order) => shares(order.shares), align: "right" },
    { title: "AMOUNT", cell: ({ amount }) => usd(amount), align: "right" },
    { title: "PRICE", cell: ({ avgPrice }) => price(avgPrice), align: "right", optional: true },
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "TRADE", cell: ({ tradeId }) => tradeId, whole: true, optional: true },
  ],
  empty: "No trades.",
});

const userStatement = defineList({
  name: "statement",
  summary: "list what went into a user's wallet and out of it, newest first",
  takes: theUser,
  operation: "listUserStatement",
  input: ofTheUser,
  columns: [
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "WHAT", cell: ({ type }) => type, whole: true },
    { title: "AMOUNT", cell: ({ amount }) => usd(amount), align: "right" },
    { title: "OWED", cell: ({ owed }) => (owed === undefined ? "" : usd(owed)), align: "right", optional: true },
    { title: "BALANCE", cell: ({ balance }) => usd(balance), align: "right" },
    {
      title: "OF",
      cell: subjectOf,
      optional: true,
    },
  ],
  empty: "Nothing went into the wallet or out of it.",
});

export const userPortfolio = defineCommand({
  name: "portfolio",
  summary: "show a user's standing, money, positions and latest settlements",
  takes: theUser,
  operation: "getUserPortfolio",
  input: ofTheUser,
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
      `${shares(each.shares)} ${each.side} of ${each.question}: ${settledWords(each)}`,
    ]),
  ],
});

const userSession = defineCommand({
  name: "session",
  summary: "start a session at the server, as the widget does for a signed-in user",
  takes: theUser,
  operation: "createSession",
  ...asTheUser,
  input: (_, __, { services }) => {
    if (services === undefined) return {};
    throw new Fault("USAGE", "Only a running server has sessions: start one with pmctl serve, and add --via http");
  },
  fields: ({ userId, expiresAt }) => [
    ["user", userId],
    ["until", time(expiresAt, { seconds: true })],
  ],
});

export const userShow = defineCommand({
  name: "show",
  summary: "show a user's state and money",
  takes: theUser,
  operation: "getUser",
  input: ofTheUser,
  fields: (user) => [
    ["user", user.userId],
    ["state", user.state === "restricted" ? `restricted (identity: ${user.kyc})` : user.state],
    ["jurisdiction", orDash(user.jurisdiction)],
    ["suitability", user.suitabilityScore === null ? "-" : String(user.suitabilityScore)],
    ["balance", usd(user.balanceUsd)],
    ["exposure", usd(user.exposureUsd)],
    ["pending withdrawals", usd(user.pendingWithdrawalsUsd)],
    ["owed", usd(user.owedUsd)],
    ["since", time(user.createdAt, { seconds: true })],
    ["sessions", user.revokeBefore === null ? "-" : `ended before ${time(user.revokeBefore, { seconds: true })}`],
  ],
});

/** As far as the key may read users: it may restrict and release them all the same. */
async function seemsKnown(id: string, api: Api): Promise<boolean> {
  return isKnownUser(id, api).catch((error: unknown) => {
    if (error instanceof Fault && error.code === "SCOPE_REQUIRED") return true;
    throw error;
  });
}

/**
 * A restriction is the safe direction, so only an unknown user needs a confirmation: the id is most likely misspelled,
 * and the user who is meant could trade on.
 */
async function confirmUnknown(id: string, { options, io }: CommandContext<object>, api: Api): Promise<void> {
  if (
    (await seemsKnown(id, api)) ||
    !mustAsk(options, io.prompts, `Restricting ${id}, whom the tenant has never seen,`)
  )
    return;
  if (!(await io.prompts.confirm(`The tenant has never seen ${id}. Restrict this user from the first day on?`)))
    throw declined();
}

/** A command that sets a user's state. */
const stateCommand = (name: string, summary: string, operation: "restrictUser" | "releaseUser") =>
  defineCommand({
    name,
    summary,
    takes: theUser,
    operation,
    prints: { operation, ...(operation === "restrictUser" && { ends: { 3: NOT_CONFIRMED } }) },
    input: async (context, api) => {
      const [id = ""] = context.args;
      if (operation === "restrictUser") await confirmUnknown(id, context, api);
      else if (!(await seemsKnown(id, api))) await knownUser(id, api);
      return { id };
    },
    fields: ({ userId, state }) => [
      ["user", userId],
      ["state", state],
    ],
  });

export const userRestrict = stateCommand(
  "restrict",
  "stop a user from trading and new withdrawals, at once; those that wait are still decided",
  "restrictUser",
);
export const userRelease = stateCommand("release", "lift a restriction", "releaseUser");

/** Asks for no confirmation: a user whose session ends can sign in again. */
const userRevoke = defineCommand({
  name: "revoke",
  summary: "end all sessions of a user: tokens issued before now, or another time, are refused",
  takes: (command) =>
    theUser(command).option(
      "--before <when>",
      "end only sessions that began before this time: 2h for two hours ago, or a time with its zone",
      timeAgo,
    ),
  operation: "revokeUser",
  input: ({ options, args: [id = ""] }: CommandContext<{ before?: string }>) => ({ id, revokeBefore: options.before }),
  fields: ({ userId, revokeBefore }) => [
    ["user", userId],
    ["sessions", `ended before ${time(revokeBefore, { seconds: true })}`],
  ],
});

/** Needs neither server nor database: the tenant's secret is enough to sign a token. */
const userToken: CommandModule = {
  register: (noun, host) =>
    host.add<{ ttl?: number }>(
      theUser(noun.command("token").description("issue a token that lets its bearer act as the user")).option(
        "--ttl <span>",
        "how long the token is valid, at most 24h (default: 1h)",
        timeSpan,
      ),
      { names: "token userId expiresAt", ends: READS_FILES },
      async ({ options, args: [id = ""], io }) => {
        const [{ readOperatorTenant }, { LONGEST_TOKEN_MS, mintUserToken }] = await Promise.all([
          import("../../app/tenant/operator-tenant.ts"),
          import("../../app/tenant/user-token.ts"),
        ]);
        const { ttl = HOUR_MS } = options;
        if (ttl > LONGEST_TOKEN_MS)
          throw new Fault("USAGE", "--ttl: the server refuses tokens that live longer than 24h");
        const { token, expiresAt } = await mintUserToken(readOperatorTenant(options.tenant), id, ttl, wallClockMs());
        const printed = { token, userId: id, expiresAt: isoTime(expiresAt) };
        return io.output.print(printed, { kind: "text", text: () => token });
      },
    ),
};

export const register = verbs(
  userList,
  userOrders,
  userStatement,
  userPortfolio,
  userSession,
  userShow,
  userEligibility,
  userRestrict,
  userRelease,
  userRevoke,
  userStory,
  userToken,
);

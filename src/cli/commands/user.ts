import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { isoTime, wallClockMs } from "../../domain/time/clock.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import { registerUserStory } from "../audit/story.ts";
import type { CommandContext, Host } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { isKnownUser, knownUser } from "../input/names.ts";
import { identifier, timeAgo, timeSpan } from "../input/parsers.ts";
import { declined, mustAsk } from "../input/prompts.ts";
import { orDash, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { registerAccounts } from "./user-account.ts";

type StateChange = WireResult<"restrictUser">;

interface Token {
  token: string;
  userId: string;
  expiresAt: string;
}

export function register(noun: Command, host: Host): void {
  registerAccounts(noun, host);
  for (const command of [userShow, userRestrict, userRelease, userRevoke]) command.register(noun, host);
  registerUserStory(noun, host);
  host.add<{ ttl?: number }>(
    noun
      .command("token")
      .description("a token that lets its bearer act as the user")
      .argument("<id>", "the user", identifier)
      .option("--ttl <span>", "how long it lives, at most 24h (default: 1h)", timeSpan),
    { names: "token userId expiresAt" },
    async ({ options, args: [id = ""], io }) => {
      // Needs neither server nor database: the tenant's secret is all that a token takes.
      const [{ readOperatorTenant }, { LONGEST_TOKEN_MS, mintUserToken }] = await Promise.all([
        import("../../app/tenant/operator-tenant.ts"),
        import("../../app/tenant/user-token.ts"),
      ]);
      const { ttl = HOUR_MS } = options;
      if (ttl > LONGEST_TOKEN_MS)
        throw new Fault("USAGE", "--ttl: the server refuses tokens that live longer than 24h");
      const { token, expiresAt } = await mintUserToken(readOperatorTenant(options.tenant), id, ttl, wallClockMs());
      return io.output.print({ token, userId: id, expiresAt: isoTime(expiresAt) }, tokenView);
    },
  );
}

const theUser = (command: Command) => command.argument("<id>", "the user", identifier);

export const userShow = defineCommand({
  name: "show",
  summary: "a user's state and money",
  takes: theUser,
  operation: "getUser",
  input: async ({ args: [id = ""] }, api) => ({ id: await knownUser(id, api) }),
  view: {
    kind: "record",
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
  },
});

const stateView: View<StateChange, StateChange> = {
  kind: "record",
  fields: ({ userId, state }) => [
    ["user", userId],
    ["state", state],
  ],
};

/**
 * A restriction is the safe direction, and asks only for a user whom the tenant has never seen: the id is most likely
 * misspelled, and the one who is meant trades on.
 */
async function confirmUnknown(id: string, { options, io }: CommandContext<object>, api: Api): Promise<void> {
  const known = await isKnownUser(id, api).catch((error: unknown) => {
    // A key that may not read users may restrict them all the same.
    if (error instanceof Fault && error.code === "SCOPE_REQUIRED") return true;
    throw error;
  });
  if (known || !mustAsk(options, io.prompts, `Restricting ${id}, whom the tenant has never seen,`)) return;
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
    input: async (context, api) => {
      const [id = ""] = context.args;
      if (operation === "restrictUser") await confirmUnknown(id, context, api);
      return { id };
    },
    view: stateView,
  });

export const userRestrict = stateCommand(
  "restrict",
  "stop a user from trading and withdrawing, at once",
  "restrictUser",
);
export const userRelease = stateCommand("release", "lift a restriction", "releaseUser");

/** Does not ask for a confirmation: a user whose session ends signs in again. */
const userRevoke = defineCommand({
  name: "revoke",
  summary: "end all sessions of a user: tokens issued before now, or another time, are refused",
  takes: (command) =>
    theUser(command).option(
      "--before <when>",
      "end only what was issued before this time: 2h for two hours ago, or a time with its zone",
      timeAgo,
    ),
  operation: "revokeUser",
  input: ({ options, args: [id = ""] }: CommandContext<{ before?: string }>) => ({ id, revokeBefore: options.before }),
  view: {
    kind: "record",
    fields: ({ userId, revokeBefore }) => [
      ["user", userId],
      ["sessions", `ended before ${time(revokeBefore, { seconds: true })}`],
    ],
  },
});

const tokenView: View<Token, Token> = { kind: "text", text: ({ token }) => token };

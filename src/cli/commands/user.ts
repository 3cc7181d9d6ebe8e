import type { Command } from "commander";
import type { OperatorTenant } from "../../app/tenant/operator-tenant.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { isoTime, wallClockMs } from "../../domain/clock.ts";
import { Fault } from "../../domain/fault.ts";
import { HOUR_MS } from "../../domain/time.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { identifier, timeSpan } from "../input/parsers.ts";
import { past } from "../input/past.ts";
import { orDash, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";

export interface TokenOptions {
  id: string;
  ttlMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

type User = WireResult<"getUser">;
type StateChange = WireResult<"restrictUser">;
type Revoked = WireResult<"revokeUser">;

interface Token {
  token: string;
  userId: string;
  expiresAt: string;
}

export function register(noun: Command, host: Host): void {
  noun
    .command("show")
    .description("a user's state and money")
    .argument("<id>", "the user", identifier)
    .action(
      host.action(({ options, args: [id = ""], io }) =>
        withSession(options, io, (session) => runUserShow({ id }, session.api(), io)),
      ),
    );
  for (const [verb, description] of [
    ["restrict", "stop a user from trading and withdrawing, at once"],
    ["release", "lift a restriction"],
  ] as const)
    noun
      .command(verb)
      .description(description)
      .argument("<id>", "the user", identifier)
      .action(
        host.action(({ options, args: [id = ""], io }) =>
          withSession(options, io, (session) => runUserRestrict({ id, verb }, session.api(), io)),
        ),
      );
  noun
    .command("revoke")
    .description("end all sessions of a user: tokens issued before now, or another time, are refused")
    .argument("<id>", "the user", identifier)
    .option("--before <when>", "end only what was issued before this time: 2h for two hours ago, or a date", past)
    .action(
      host.action<{ before?: string }>(({ options, args: [id = ""], io }) =>
        withSession(options, io, (session) => runUserRevoke({ id, revokeBefore: options.before }, session.api(), io)),
      ),
    );
  noun
    .command("token")
    .description("a token that lets its bearer act as the user")
    .argument("<id>", "the user", identifier)
    .option("--ttl <span>", "how long it lives, at most 24h (default: 1h)", timeSpan)
    .action(
      host.action<{ ttl?: number }>(async ({ options, args: [id = ""], io }) => {
        const { readOperatorTenant } = await import("../../app/tenant/operator-tenant.ts");
        const token = { id, ttlMs: options.ttl ?? HOUR_MS, now: wallClockMs() };
        return runUserToken(token, readOperatorTenant(options.tenant), io);
      }),
    );
}

const userView: View<User, User> = {
  kind: "record",
  fields: (user) => [
    ["user", user.userId],
    ["state", user.state === "restricted" ? `restricted (identity: ${user.kyc})` : user.state],
    ["jurisdiction", orDash(user.jurisdiction)],
    ["suitability", user.suitabilityScore === null ? "-" : String(user.suitabilityScore)],
    ["balance", usd(user.balanceUsd)],
    ["exposure", usd(user.exposureUsd)],
    ["pending withdrawals", usd(user.pendingWithdrawalsUsd)],
    ["since", time(user.createdAt, { seconds: true })],
    ["sessions", user.revokeBefore === null ? "-" : `ended before ${time(user.revokeBefore, { seconds: true })}`],
  ],
};

const revokedView: View<Revoked, Revoked> = {
  kind: "record",
  fields: ({ userId, revokeBefore }) => [
    ["user", userId],
    ["sessions", `ended before ${time(revokeBefore, { seconds: true })}`],
  ],
};

const stateView: View<StateChange, StateChange> = {
  kind: "record",
  fields: ({ userId, state }) => [
    ["user", userId],
    ["state", state],
  ],
};

export async function runUserShow(options: { id: string }, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.getUser(options), userView);
  return EXIT.ok;
}

/** Neither asks: a restriction is the safe direction, and a release gives back nothing that is not there. */
export async function runUserRestrict(
  { id, verb }: { id: string; verb: "restrict" | "release" },
  api: Api,
  { output }: Io,
): Promise<ExitCode> {
  await output.print(await (verb === "restrict" ? api.restrictUser({ id }) : api.releaseUser({ id })), stateView);
  return EXIT.ok;
}

/** Does not ask: whoever was signed in signs in again. */
export async function runUserRevoke(
  options: { id: string; revokeBefore?: string | undefined },
  api: Api,
  { output }: Io,
): Promise<ExitCode> {
  await output.print(await api.revokeUser(options), revokedView);
  return EXIT.ok;
}

const tokenView: View<Token, Token> = { kind: "text", text: ({ token }) => token };

/** Needs neither server nor database: the tenant's secret is all that a token takes. */
export async function runUserToken(options: TokenOptions, tenant: OperatorTenant, { output }: Io): Promise<ExitCode> {
  const { LONGEST_TOKEN_MS, mintUserToken } = await import("../../app/tenant/user-token.ts");
  if (options.ttlMs > LONGEST_TOKEN_MS)
    throw new Fault("USAGE", "--ttl: the server refuses tokens that live longer than 24h");
  const { token, expiresAt } = await mintUserToken(tenant, options.id, options.ttlMs, options.now);
  await output.print({ token, userId: options.id, expiresAt: isoTime(expiresAt) }, tokenView);
  return EXIT.ok;
}

import type { Command } from "commander";
import { Fault } from "../../domain/fault.ts";
import { isoTime, wallClock } from "../clock.ts";
import type { ExitCode, Host, Io } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { OperatorTenant } from "../operator-tenant.ts";
import type { View } from "../output.ts";
import { identifier, timeSpan } from "../parsers.ts";

const HOUR_MS = 3_600_000;

export interface TokenOptions {
  id: string;
  ttlMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

interface Token {
  token: string;
  userId: string;
  expiresAt: string;
}

export function register(noun: Command, host: Host): void {
  noun
    .command("token")
    .description("a token that lets its bearer act as the user")
    .argument("<id>", "the user", identifier)
    .option("--ttl <span>", "how long it lives, at most 24h (default: 1h)", timeSpan)
    .action(
      host.action<{ ttl?: number }>(async ({ options, args: [id = ""], io }) => {
        const { readOperatorTenant } = await import("../operator-tenant.ts");
        const token = { id, ttlMs: options.ttl ?? HOUR_MS, now: wallClock() };
        return runUserToken(token, readOperatorTenant(options.tenant), io);
      }),
    );
}

const tokenView: View<Token, Token> = { kind: "text", text: ({ token }) => token };

/** Needs neither server nor database: the tenant's secret is all that a token takes. */
export async function runUserToken(options: TokenOptions, tenant: OperatorTenant, { output }: Io): Promise<ExitCode> {
  const { LONGEST_TOKEN_MS, mintUserToken } = await import("../user-token.ts");
  if (options.ttlMs > LONGEST_TOKEN_MS)
    throw new Fault("USAGE", "--ttl: the server refuses tokens that live longer than 24h");
  const { token, expiresAt } = await mintUserToken(tenant, options.id, options.ttlMs, options.now);
  await output.print({ token, userId: options.id, expiresAt: isoTime(expiresAt) }, tokenView);
  return EXIT.ok;
}

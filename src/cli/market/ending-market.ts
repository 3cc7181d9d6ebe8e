import type { Command } from "commander";
import type { Api } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandModule, type Globals, type Host, type Io, withSession } from "../command.ts";
import { NOT_CONFIRMED } from "../errors.ts";
import { decimal, wholeNumber } from "../input/parsers.ts";
import { askReason, mustAsk } from "../input/prompts.ts";
import { usd } from "../output/cells.ts";
import { marketArgument, type marketsIn } from "./market-choice.ts";

/** What the commands share that settle, void and correct a market: each moves money. */

/** The flags of every such command. */
export interface EndFlags {
  yes?: boolean | undefined;
  /** Shows what would be moved, and moves nothing. */
  preview?: boolean | undefined;
  reason?: string | undefined;
  /** What the decision rests on, in words. */
  evidence?: string | undefined;
}

/** The payments that the line expects. */
export interface ExpectFlags {
  expectPayouts?: number | undefined;
  /** US dollars. */
  expectTotal?: number | undefined;
}

/** The most that the treasury may add. */
export interface TreasuryFlag {
  /** US dollars. */
  maxTreasury?: number | undefined;
}

export const expectOptions = (command: Command, whom: string): Command =>
  command
    .option("--expect-payouts <n>", `pay nothing unless this many ${whom} would be paid`, wholeNumber)
    .option("--expect-total <usd>", "pay nothing unless this is the total", decimal);

export const treasuryOption = (command: Command, without: string): Command =>
  command.option(
    "--max-treasury <usd>",
    `pay nothing if the treasury would have to add more than this (default: ${without})`,
    decimal,
  );

/** An operator who expects a payment must know that it may have to wait. */
const WAITS_NOTE = `
Where the resolution section of the tenant file or of the market states a hold or
approvals, the command becomes a proposal: it pays nothing yet, and exits with 0.
"pmctl proposal show ID" says what it waits for, other operators agree with
"pmctl proposal approve ID", and "pmctl proposal reject ID" ends it.`;

interface EndDefinition<Flags extends EndFlags> {
  verb: string;
  summary: string;
  operation: "settleMarket" | "voidMarket" | "correctMarket";
  /** What needs a reason, as the subject of a sentence. */
  subject: string;
  offered?: ReturnType<typeof marketsIn>;
  /** What else an operator must know. */
  note?: string;
  takes: (command: Command) => Command;
  run: (options: Flags & { id: string }, api: Api, io: Io) => Promise<void>;
}

/** A command that previews an end of a market, or makes it for a stated reason. */
export function endCommand<Flags extends EndFlags>(definition: EndDefinition<Flags>): CommandModule {
  const { verb, summary, operation, subject, offered, note = "", takes, run } = definition;
  const theMarket = marketArgument(verb, offered);
  return {
    register: (noun: Command, host: Host) =>
      host.add<Flags>(
        takes(theMarket.takes(noun.command(verb).description(summary)))
          .option(
            "--evidence <text>",
            "what the decision rests on, up to 2000 characters; others read it before they agree",
          )
          .addHelpText("after", note + WAITS_NOTE),
        { operation, ends: { 3: NOT_CONFIRMED } },
        async ({ options: given, args, io }) => {
          theMarket.check({ args, io });
          const options: Flags & Globals = given.preview
            ? given
            : { ...given, reason: await askReason(given, io.prompts, subject) };
          if (!given.preview) mustAsk(options, io.prompts);
          return withSession(options, io, async (session) => {
            const api = session.api();
            const { id } = await theMarket.input({ args, io }, api, session);
            return run({ ...options, id }, api, io);
          });
        },
      ),
  };
}

/** Waits until the operator has typed the market and the outcome, which no other line asks for. */
export async function confirmEnd(phrase: string, consequence: string, { output, prompts }: Io): Promise<void> {
  output.note(`\n${consequence}, type\n  ${phrase}`);
  await prompts.type("The market and the outcome", phrase);
}

/**
 * Refuses an end that would take more from the treasury than the line allows, before anything is typed.
 * @throws Fault EXPECTATION_NOT_MET
 */
export function requireWithinTreasury(
  what: string,
  { fromTreasuryUsd }: { fromTreasuryUsd: number },
  { maxTreasury = fromTreasuryUsd }: TreasuryFlag,
): void {
  if (fromTreasuryUsd <= maxTreasury) return;
  throw new Fault(
    "EXPECTATION_NOT_MET",
    `${what} would take ${usd(fromTreasuryUsd)} USD from the treasury, more than --max-treasury ${usd(maxTreasury)} states: nothing was paid`,
  );
}

/** Names the flag that allows more where the treasury would have to add more than was stated. */
export async function withTreasuryFlag<Answer>(work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    const isAboutIt = error instanceof Fault && error.code === "EXPECTATION_NOT_MET";
    if (!isAboutIt || !error.message.includes("from the treasury")) throw error;
    const { code, message, detail } = error;
    throw new Fault(code, `${message}. --max-treasury allows more`, { cause: error, detail });
  }
}

/** What the treasury adds and gets, in words. */
export function treasuryFields(
  { fromTreasuryUsd, toTreasuryUsd }: { fromTreasuryUsd: number; toTreasuryUsd: number },
  { why, rest }: { why: string; rest: string },
): [string, string][] {
  return [
    ["from the treasury", fromTreasuryUsd > 0 ? `${usd(fromTreasuryUsd)} USD, ${why}` : "nothing"],
    ["to the treasury", toTreasuryUsd > 0 ? `${usd(toTreasuryUsd)} USD, ${rest}` : "nothing"],
  ];
}

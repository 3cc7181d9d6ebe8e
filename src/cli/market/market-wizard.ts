import { InvalidArgumentError } from "commander";
import type { ZodType } from "zod";
import { describeMistake, jsonSentence } from "../../contract/issue-sentence.ts";
import type { Api, WireInput } from "../../contract/operations.ts";
import { MarketInput } from "../../contract/resources/markets.ts";
import { Fault } from "../../domain/fault.ts";
import type { Io } from "../command.ts";
import { dollars, sharePrice, timeAhead } from "../input/parsers.ts";
import { declined } from "../input/prompts.ts";
import { instant, orDash, price, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import type { MarketFlags } from "./market-input.ts";

const KINDS = [
  { value: "lmsr", name: "lmsr, a logarithmic market maker" },
  { value: "cpmm", name: "cpmm, a constant product" },
] as const;

type Input = WireInput<"createMarket">;

/** A market before it is created, with the money that it takes. */
interface Offer {
  input: Input;
  liquidityUsd: number;
  treasuryUsd: number;
}

const offerView: View<Offer, Offer> = {
  kind: "record",
  fields: ({ input, liquidityUsd, treasuryUsd }) => [
    ["question", input.question],
    ["category", input.category],
    ["kind", input.kind],
    ["yes", price(input.p0)],
    ["no", price(1 - input.p0)],
    ["closes", instant(input.closeAt)],
    ["decided by", input.resolutionRef],
    ["key", orDash(input.key)],
    ["worst case", `the house loses the ${usd(liquidityUsd)} USD that it puts in`],
    ["treasury", `${usd(treasuryUsd)} USD before, ${usd(treasuryUsd - liquidityUsd)} after`],
  ],
};

/** The tenant's rules for its markets. */
interface MarketTenant {
  /** The liquidity of a market that states none. */
  liquidityUsd: number;
  /** @throws Fault USAGE for a reference to a feed that the tenant lacks */
  checkReference: (reference: string) => void;
}

/** Asks on a terminal for what the line leaves out. */
export async function askMarket(
  flags: MarketFlags,
  { liquidityUsd, checkReference }: MarketTenant,
  io: Pick<Io, "prompts">,
): Promise<MarketFlags> {
  const { prompts } = io;
  const { shape } = MarketInput;
  const text = (question: string, schema: ZodType, fallback?: string) =>
    prompts.ask(question, { fallback, problem: problemOf((answer) => check(schema, answer)) });
  const number = async (question: string, schema: ZodType, fallback: string, read: (answer: string) => number) => {
    const problem = problemOf((answer) => check(schema, read(answer)));
    return read(await prompts.ask(question, { fallback, problem }));
  };
  return {
    ...flags,
    question: flags.question ?? (await text("What are traders asked?", shape.question)),
    category: flags.category ?? (await text("Which category?", shape.category, "general")),
    kind: flags.kind ?? (await prompts.choose("How are prices made?", KINDS, "lmsr")),
    p0: flags.p0 ?? (await number("At what price does YES begin?", shape.p0, "0.5", sharePrice)),
    liquidity:
      flags.liquidity ??
      (await number("How many USD does the house risk at most?", shape.liquidityUsd, String(liquidityUsd), dollars)),
    closeAt: flags.closeAt ?? (await askTime(io)),
    resolutionRef:
      flags.resolutionRef ??
      (await prompts.ask("What decides it? (pm:btc > 100000 settles by itself; else you do)", {
        problem: problemOf((answer) => {
          check(shape.resolutionRef, answer);
          checkReference(answer);
        }),
      })),
    ...(flags.key === undefined ? await askKey(io) : {}),
  };
}

/** Shows a market with the money that it takes, and asks whether to create it. @throws Fault REFUSED after a no */
export async function confirmMarket(input: Input, usualUsd: number, api: Api, io: Io): Promise<void> {
  const { treasuryUsd } = await api.getConfig({});
  io.output.explain({ input, liquidityUsd: input.liquidityUsd ?? usualUsd, treasuryUsd }, offerView);
  if (!(await io.prompts.confirm("Create this market?"))) throw declined();
}

async function askTime({ prompts }: Pick<Io, "prompts">): Promise<string> {
  const question = "When does trading end? (2h, friday 18:00 UTC, 2030-01-31T18:00:00Z)";
  return timeAhead(await prompts.ask(question, { fallback: "7d", problem: problemOf(timeAhead) }));
}

async function askKey({ prompts }: Pick<Io, "prompts">): Promise<{ key?: string }> {
  const problem = problemOf((answer) => check(MarketInput.shape.key, answer));
  const key = await prompts.ask("Under which key? (a name for commands and files; Enter for none)", {
    fallback: "",
    problem: (answer) => (answer === "" ? undefined : problem(answer)),
  });
  return key === "" ? {} : { key };
}

/** @throws Fault USAGE with the problem of a value */
function check(schema: ZodType, value: unknown): void {
  const { error } = schema.safeParse(value, { error: jsonSentence });
  if (error) throw new Fault("USAGE", describeMistake(error));
}

/** Turns the error of a parser into the prompt's own message. */
function problemOf(read: (answer: string) => unknown): (answer: string) => string | undefined {
  return (answer) => {
    try {
      read(answer);
      return undefined;
    } catch (error) {
      if (error instanceof Fault || error instanceof InvalidArgumentError) return error.message;
      throw error;
    }
  };
}

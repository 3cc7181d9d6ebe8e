import { z } from "zod";
import { operations } from "../../contract/operations.ts";
import { SettlementResult } from "../../contract/resources/ends/settlement.ts";
import { MarketInput } from "../../contract/resources/markets.ts";
import { PlaceCode, PolicyUpdated } from "../../contract/resources/policy.ts";
import { line, MarketId, MarketStatus, Side, Timestamp, text, UserId } from "../../contract/scalars.ts";
import { decimalFromNumber } from "../../domain/decimal.ts";
import { FAULT_CODES, type FaultCode } from "../../domain/fault.ts";
import { nearest } from "../../domain/nearest.ts";
import { HIGHEST_SCORE } from "../../domain/policy/suitability.ts";
import { parseDuration, parseTime, TimeSyntaxError } from "../../domain/time/time-grammar.ts";
import { PolicyBlock } from "./policy-block.ts";
import { listOf, UsdNumber } from "./scalars.ts";

const number = (description: string) => z.number().meta({ description });

const User = z.strictObject({
  balanceUsd: UsdNumber.default(0).describe("The balance of the wallet."),
  kyc: z
    .enum(["passed", "failed", "pending", "none"])
    .default("passed")
    .describe("The result of the identity check; pending is no result yet."),
  jurisdiction: PlaceCode.optional().describe(
    "The jurisdiction by the identity check or, without a check, by the user's token.",
  ),
  suitability: z.number().int().min(0).max(HIGHEST_SCORE).optional().describe("The assessment's score."),
  restricted: z.boolean().default(false).describe("Whether an operator has restricted the user."),
});

const { key: _, closeAt: __, meta, ...terms } = MarketInput.shape;

/** A market's terms as far as the case states them; a market file supplies the rest. */
const Market = z
  .strictObject({
    ...terms,
    meta: meta.unwrap(),
    closeAt: text(64).describe("A duration after `now`, such as 2h, or a time with a zone."),
    file: text(1024).meta({
      description: "The market file that supplies the terms, relative to the tenant's folder.",
      examples: ["markets/rain.yaml"],
    }),
  })
  .partial();

/** The engine checks numbers as it does those of a request, so that a case can expect its errors. */
const Trade = z
  .strictObject({
    user: UserId,
    market: MarketId,
    side: Side,
    action: z.enum(["buy", "sell"]).default("buy").describe("Buy or sell shares of the side."),
    amountUsd: number("Amount to spend, fee included. Required to buy.").optional(),
    shares: number("Number of shares to sell. Required to sell.").optional(),
    maxAvgPrice: number("Refuse a purchase at a higher average price.").optional(),
    minShares: number("Refuse a purchase of fewer shares.").optional(),
    minAvgPrice: number("Refuse a sale at a lower average price.").optional(),
  })
  .check(({ value, issues }) => {
    const size = value.action === "sell" ? "shares" : "amountUsd";
    if (value[size] === undefined)
      issues.push({ code: "custom", input: undefined, path: [size], message: "is required", params: REQUIRED });
  });
const REQUIRED = { code: "REQUIRED" };

const Duration = z
  .string()
  .refine((span) => parseDuration(span) !== undefined, "must be a duration such as 30s, 15m or 3h");

/** The actions of a case; each step has one. */
const ACTIONS = {
  trade: Trade.describe("A user buys or sells."),
  wait: Duration.meta({ description: "Advances the clock; due events happen at their time.", examples: ["2h"] }),
  suspend: MarketId,
  resume: MarketId,
  policy: PolicyBlock.describe("Changes these fields of the policy."),
  sweep: z.strictObject({}).describe("The oracle checks every market that is due."),
  price: z
    .strictObject({
      feed: text(64).describe("The feed's key, such as pm:btc."),
      value: number("The price.").refine((value) => decimalFromNumber(value) !== undefined, "must be a price"),
    })
    .describe("Sets the price of all sources of a feed, dated now."),
  settle: z
    .strictObject({
      market: MarketId,
      outcome: Side,
      expectPayouts: number("Settle only if exactly this many positions win.").optional(),
      expectTotalUsd: number("Settle only if the positions are paid exactly this much in all.").optional(),
    })
    .describe("An operator settles a market."),
};
export type Action = keyof typeof ACTIONS;
const ACTION_NAMES = Object.keys(ACTIONS) as Action[];

/** The fields of each action's result; moving the clock and stating a price have none. */
const RESULT_FIELDS: Readonly<Record<Action, readonly string[]>> = {
  trade: Object.keys(operations.placeTrade.output.shape),
  wait: [],
  suspend: Object.keys(operations.suspendMarket.output.shape),
  resume: Object.keys(operations.resumeMarket.output.shape),
  policy: Object.keys(PolicyUpdated.shape),
  sweep: Object.keys(operations.sweepOracle.output.shape),
  price: [],
  settle: Object.keys(SettlementResult.shape),
};

const Result = z.json().describe("A field of the API's response to the step.");

const { placeOrder, suspendMarket, resumeMarket, settleMarket } = operations;
/** Every error code that a step can return. */
export const STEP_REFUSALS: readonly FaultCode[] = [
  ...new Set([placeOrder, suspendMarket, resumeMarket, settleMarket].flatMap(({ refusals }) => [...refusals])),
];

/** The message lists no codes, because most belong to requests that no case makes. */
const Refusal = z.enum(FAULT_CODES, {
  error: ({ input }) => {
    const meant = typeof input === "string" ? nearest(input, STEP_REFUSALS) : undefined;
    const hint = meant === undefined ? ": `pmctl help errors` lists them" : `; did you mean "${meant}"?`;
    return `must be an error code${hint}`;
  },
});

const Expectation = z
  .strictObject({
    refused: Refusal.describe("The error code of the step."),
    ...Object.fromEntries(Object.values(RESULT_FIELDS).flatMap((fields) => fields.map((field) => [field, Result]))),
  })
  .partial();

const Step = z
  .strictObject({ ...ACTIONS, expect: Expectation.describe("The expected result of the step.") })
  .partial()
  .check(({ value, issues }) => {
    const [action, ...others] = actionsOf(value);
    const fail = (path: string[], message: string, params: object) =>
      issues.push({ code: "custom", input: undefined, path, message, params });
    if (action === undefined) return void fail([], `must be one of ${ACTION_NAMES.join(", ")}`, REQUIRED);
    for (const other of others)
      fail([other], `does not go with ${action}: each step does one thing`, { code: "CONFLICT" });
    const fields = RESULT_FIELDS[action];
    for (const field of Object.keys(value.expect ?? {})) {
      if (field === "refused" || fields.includes(field)) continue;
      const meant = nearest(field, fields);
      const known = ["refused", ...fields].join(", ");
      const hint = meant === undefined ? `there are: ${known}` : `did you mean "${meant}"?`;
      fail(["expect", field], `${action} has no such result; ${hint}`, { code: "UNKNOWN_KEY", meant });
    }
  });
export type Step = z.output<typeof Step>;

/** The actions that a step names; a valid step names one. */
export function actionsOf(step: Readonly<Record<string, unknown>>): Action[] {
  return ACTION_NAMES.filter((name) => step[name] !== undefined);
}

const Given = z.strictObject({
  policy: PolicyBlock.default({}).describe("Policy fields that override the tenant file's."),
  treasuryUsd: UsdNumber.optional().describe("The treasury before any market; the default is treasury.capitalUsd."),
  users: z.record(UserId, User).default({}).describe("Users by id."),
  markets: z.record(MarketId, Market).default({}).describe("Markets by their names within the case."),
});

const Held = z.strictObject({ side: Side, shares: number("The user's shares of the side.") });
const Shown = z.strictObject({
  status: MarketStatus.describe("The market's final status."),
  yesPrice: number("The price of YES."),
  outcome: Side.nullable().describe("Null until the market is settled."),
});
const House = z.strictObject({
  feesUsd: number("The fees taken."),
  resultUsd: number("The treasury plus fees, minus the treasury before any market."),
  treasuryUsd: number("The treasury, without money in open markets."),
});

const Then = z
  .strictObject({
    balances: z.record(UserId, z.number()).describe("Wallets by user."),
    positions: z
      .record(UserId, z.record(MarketId, Held.partial()))
      .describe("Positions by user and market; a settled market has none."),
    markets: z.record(MarketId, Shown.partial()).describe("Markets in the API's form."),
    house: House.partial().describe("The house's accounts."),
  })
  .partial();

/** One document of `tenants/<id>/tests/*.yaml`. */
export const CaseSchema = z
  .strictObject({
    name: line(200).meta({ description: "The case's name in reports.", examples: ["a restricted user may not trade"] }),
    now: Timestamp.prefault("2030-01-01T00:00:00Z").describe("When the case begins."),
    given: Given.prefault({}).describe("The initial state, in addition to the tenant file."),
    when: listOf(Step, 1000).describe("The steps, in this order."),
    // biome-ignore lint/suspicious/noThenProperty: no function, so nothing takes a case for a promise
    then: Then.default({}).describe("The expected final state; unnamed values are not compared."),
  })
  .check(({ value: { given, now }, issues }) => {
    for (const [name, { closeAt }] of Object.entries(given.markets)) {
      const message = closeAt === undefined ? undefined : problemOfTime(closeAt, now);
      if (message === undefined) continue;
      issues.push({ code: "custom", input: closeAt, path: ["given", "markets", name, "closeAt"], message });
    }
  })
  .meta({ title: "pmctl test case", description: "A case of `pmctl test`; each document of a file is one." });

function problemOfTime(written: string, now: number): string | undefined {
  try {
    parseTime(written, now, "ahead");
    return undefined;
  } catch (error) {
    if (error instanceof TimeSyntaxError) return error.message;
    throw error;
  }
}

export type Case = z.output<typeof CaseSchema>;

/** More in one file are a mistake. */
export const MAX_CASES_PER_FILE = 1000;

import { z } from "zod";
import { EndTerms } from "../../contract/resources/markets.ts";
import { CategorySlug } from "../../contract/scalars.ts";
import { UsdNumber } from "./scalars.ts";

const YEAR_HOURS = 8760;
const { holdHours, approvals } = EndTerms.shape;
const Approvals = z.number().int().min(1).max(20);

/** How markets end, and who must agree. */
export const ResolutionSection = z
  .strictObject({
    holdHours: holdHours.unwrap().default(0).describe("Hours between a proposal to end a market and its execution."),
    approvals: approvals
      .unwrap()
      .default(1)
      .describe("Actors that must agree to an end, the proposer or the oracle among them."),
    correctionHours: z
      .number()
      .min(0)
      .max(YEAR_HOURS)
      .default(0)
      .describe("Hours after a settlement within which it can be corrected; 0 for none."),
    categories: z
      .record(CategorySlug, EndTerms)
      .default({})
      .describe("Stricter rules for the markets of a category; the strictest of tenant, category and market counts."),
  })
  .meta({ examples: [{ holdHours: 24, approvals: 2, correctionHours: 72 }] });

const moneyRule = (what: string) =>
  z
    .strictObject({
      aboveUsd: UsdNumber.describe(`${what} up to this amount need no other actor.`),
      approvals: Approvals.describe("Actors that must agree, the first among them."),
    })
    .optional();
const changeRule = (what: string) =>
  z
    .strictObject({ approvals: Approvals.describe("Actors that must agree, the first among them.") })
    .optional()
    .describe(what);

/** Changes that one actor cannot make alone. */
export const ApprovalsSection = z.strictObject({
  withdraw: moneyRule("Withdrawals").describe("Approvals of withdrawals."),
  credit: moneyRule("Credits").describe("Credits by operators."),
  loosen: changeRule("Changes that loosen a limit, also by an apply."),
  key: changeRule("New keys and new values of keys, also by an apply."),
  apply: changeRule("Applies and rollbacks; the first apply needs none."),
});

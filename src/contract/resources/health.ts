import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { Timestamp, Usd } from "../scalars.ts";

export const Health = z
  .object({ ok: z.boolean(), service: z.string(), db: z.boolean(), uptimeSec: z.number().int().min(0) })
  .meta({ id: "Health" });

export const Reconciliation = z
  .object({
    ok: z.boolean(),
    discrepancy: Usd,
    checkedAt: Timestamp,
    verifiedAt: Timestamp.describe(
      "Extension: the state of the last complete check. For this response, newer rows and all balances were checked.",
    ),
  })
  .meta({ id: "Reconciliation" });

const sums = {
  discrepancy: z.number().describe("The difference, in the unit of the check."),
  stated: z.number().describe("The sum of the checked rows."),
  expected: z.number().describe("The sum that they should have."),
};
const held = z
  .string()
  .nullable()
  .optional()
  .meta({
    description: "For a check of rows instead of amounts: the row's contents in words; null for no row.",
    examples: ["admin key ops of 2027-01-31T18:00:00.000Z"],
  });
const said = z
  .string()
  .nullable()
  .optional()
  .describe("The same row according to the audit log; null if the log does not mention it.");
export const LedgerCheck = z
  .object({
    name: z.string().meta({ examples: ["escrow"] }),
    unit: z.enum(["usd", "count"]).describe("The unit of the numbers: US dollars, or a number of rows."),
    ok: z.boolean(),
    ...sums,
    rows: z.number().int().min(0).describe("How many rows disagree."),
    places: z.array(z.object({ place: z.string(), ...sums, held, said })).describe("The first rows that disagree."),
  })
  .meta({ id: "LedgerCheck" });

const { operation, operatorRead, operatorChange } = operationsUnder("operations");

export const healthOperations = {
  getHealth: operation({
    method: "GET",
    path: "/health",
    auth: "none",
    summary: "Check that the service and its database are up.",
    output: Health,
    refusals: [],
    health: true,
  }),
  reconcile: operatorChange("read", {
    path: "/v1/reconcile",
    summary: "Reconcile the whole ledger and record the result in the audit log.",
    input: z.object({
      full: z
        .enum(["true", "false"])
        .optional()
        .describe(
          "Extension: `true` checks every row now. Otherwise, rows of a large ledger that were checked within the last minutes are not read again.",
        ),
    }),
    inQuery: true,
    output: Reconciliation,
    refusals: [],
    verifies: "ledger",
  }),
  explainLedger: operatorRead({
    path: "/v1/reconcile/checks",
    summary:
      "List every check of the ledger with its two sums and the first differences. Of a large ledger the last comparison counts, as in `POST /v1/reconcile`.",
    input: z.object({
      failing: z.enum(["true", "false"]).optional().describe("`true` lists only the failed checks."),
    }),
    output: z.array(LedgerCheck),
    extension: true,
  }),
};

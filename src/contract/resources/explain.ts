import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { Price, paging, Timestamp, text, UserId } from "../scalars.ts";
import { AuditEntry } from "./audit.ts";
import { fillFields } from "./trading.ts";

export const Refusal = z
  .object({
    requestId: z.string(),
    ts: Timestamp,
    operation: z.string().meta({ description: "The rejected operation.", examples: ["placeTrade"] }),
    status: z.number().int(),
    code: z.string().meta({ description: "The code as in the header `Error-Code`.", examples: ["MAX_TRADE_EXCEEDED"] }),
    error: z.string().describe("The message that the caller received."),
    actor: z.string().meta({ description: "The caller, as audit entries name it.", examples: ["user:usr_1"] }),
    userId: UserId.nullable(),
    marketId: z.string().nullable().describe("The id of the market in the request."),
    detail: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .describe(
        "Details, such as the `limit`, the `value` that exceeded it, and the policy `field` that sets the limit.",
      ),
  })
  .meta({ id: "Refusal" });

const { marketId, side, amount, shares, avgPrice, yesPriceAfter, ts } = fillFields;

export const ExplainedTrade = z
  .object({
    tradeId: z.string(),
    marketId,
    question: z.string(),
    userId: UserId,
    side,
    action: z.enum(["buy", "sell"]),
    amount,
    fee: z.number().describe("US dollars."),
    shares,
    avgPrice,
    yesPriceBefore: Price,
    yesPriceAfter,
    ts,
    entry: AuditEntry.describe("The trade's audit entry."),
  })
  .meta({ id: "ExplainedTrade" });

const { operatorRead } = operationsUnder("operations", { extension: true });

export const explainOperations = {
  listRefusals: operatorRead({
    path: "/v1/refusals",
    summary: "List the rejected requests that the answering server remembers, newest first.",
    input: z.object({
      code: text(64).optional().describe("Only requests rejected with this `Error-Code`."),
      ...paging,
    }),
    output: z.array(Refusal),
    paged: true,
  }),
  getRefusal: operatorRead({
    path: "/v1/refusals/:requestId",
    summary:
      "Explain why a request was rejected. The server remembers the last 10,000 rejected changes and 1,000 rejected user tokens.",
    input: z.object({ requestId: text(64) }),
    output: Refusal,
  }),
  explainTrade: operatorRead({
    path: "/v1/trades/:tradeId",
    summary: "Get a trade with its audit entry and the prices before and after it.",
    input: z.object({ tradeId: text(64) }),
    output: ExplainedTrade,
  }),
};

import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { Price, Timestamp, text } from "../scalars.ts";
import { StoredText, StoredUserId } from "../stored.ts";
import { AuditEntry } from "./audit.ts";
import { fillFields } from "./trading.ts";

export const Refusal = z
  .object({
    requestId: z.string(),
    ts: Timestamp,
    operation: z.string().meta({ description: "What was asked for, such as placeTrade.", examples: ["placeTrade"] }),
    status: z.number().int(),
    code: z.string().meta({ description: "As in `Error-Code`.", examples: ["MAX_TRADE_EXCEEDED"] }),
    error: z.string().meta({ description: "As the caller was told." }),
    actor: z.string().meta({ description: "Who asked.", examples: ["user:usr_1"] }),
    userId: StoredUserId.nullable(),
    marketId: StoredText.nullable().meta({ description: "As it was asked for." }),
    detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).meta({
      description: "The numbers: `limit`, the `value` that met it, and the `field` that states the limit.",
    }),
  })
  .meta({ id: "Refusal" });

export const ExplainedTrade = z
  .object({
    tradeId: z.string(),
    question: z.string(),
    userId: StoredUserId,
    ...fillFields,
    action: z.enum(["buy", "sell"]),
    yesPriceBefore: Price,
    entry: AuditEntry.meta({ description: "Its audit entry." }),
  })
  .meta({ id: "ExplainedTrade" });

const { operatorRead } = operationsUnder("operations");

export const explainOperations = {
  getRefusal: operatorRead({
    path: "/v1/refusals/:requestId",
    summary: "Why a request was refused; the serving process remembers its last 10,000.",
    input: z.object({ requestId: text(64) }),
    output: Refusal,
    refusals: [],
    extension: true,
  }),
  explainTrade: operatorRead({
    path: "/v1/trades/:tradeId",
    summary: "A trade with its audit entry and the price before and after.",
    input: z.object({ tradeId: text(64) }),
    output: ExplainedTrade,
    refusals: [],
    extension: true,
  }),
};

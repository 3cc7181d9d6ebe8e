import { z } from "zod";
import { ID_KINDS } from "../../domain/market/short-id.ts";
import { operationsUnder } from "../operation.ts";
import { text } from "../scalars.ts";

/** The most texts of one request: a full page of a list. */
export const MOST_REFS = 200;

export const IdMatches = z
  .object({
    ref: z.string(),
    matches: z
      .array(
        z.object({
          id: z.string(),
          label: z
            .string()
            .describe(
              "The market's question, the user of the withdrawal or trade, the proposal's kind, the event's type, or the rejected operation.",
            ),
        }),
      )
      .describe("Up to eleven matches by id prefix, sorted by id, and the market with this text as its key."),
  })
  .meta({ id: "IdMatches" });

const { operatorRead } = operationsUnder("operations", { extension: true });

export const idOperations = {
  findIds: operatorRead({
    path: "/v1/ids",
    summary: "Find ids by their prefixes, and markets by their keys.",
    input: z.object({
      kind: z.enum(ID_KINDS),
      refs: text(16_384).meta({
        description: `Up to ${MOST_REFS} references, separated by commas: ids, beginnings of ids with at least six characters (with or without a prefix such as \`mkt_\`), or market keys. Deliveries are found by their event's id. Requests are found among the last 10,000 that this process refused.`,
        examples: ["019f2c3a,rain-bern"],
      }),
    }),
    output: z.array(IdMatches),
  }),
};

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
              "The market's question; whose withdrawal or trade it is; the event's type; the refused operation.",
            ),
        }),
      )
      .describe("By id: those that begin so, eleven at the most, and the market that has the text for its key."),
  })
  .meta({ id: "IdMatches" });

const { operatorRead } = operationsUnder("operations", { extension: true });

export const idOperations = {
  findIds: operatorRead({
    path: "/v1/ids",
    summary: "Find ids by their beginnings, and markets by their keys.",
    input: z.object({
      kind: z.enum(ID_KINDS),
      refs: text(16_384).meta({
        description: `Ids, beginnings of ids from six characters on (with or without \`mkt_\` or the like), or keys of markets; with commas between, at most ${MOST_REFS}. A delivery is named by its event, a request is one of the last 10,000 that this process refused.`,
        examples: ["019f2c3a,rain-bern"],
      }),
    }),
    output: z.array(IdMatches),
  }),
};

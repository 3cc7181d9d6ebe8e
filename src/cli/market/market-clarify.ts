import type { WireResult } from "../../contract/operations.ts";
import type { CommandContext } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { time } from "../output/cells.ts";
import type { Field } from "../output/table.ts";
import { marketArgument } from "./market-choice.ts";

const theMarket = marketArgument("clarify");

/** Asks for no confirmation: a wrong text is corrected by the next one. */
export const marketClarify = defineCommand({
  ...theMarket,
  takes: (command) =>
    theMarket
      .takes(command)
      .requiredOption("--text <text>", "what the rules mean, up to 1000 characters; traders read it as it is written"),
  name: "clarify",
  summary: "add a text to a market's rules, for all traders; it cannot be changed or taken back",
  operation: "clarifyMarket",
  input: async (context: CommandContext<{ text: string }>, api, session) => ({
    ...(await theMarket.input(context, api, session)),
    text: context.options.text,
  }),
  fields: ({ id, marketId, text, at }) => [
    ["id", id],
    ["market", marketId],
    ["text", text],
    ["time", time(at, { seconds: true })],
  ],
});

/** The texts that were added to a market's rules, oldest first. */
export const clarifiedFields = ({ clarifications }: Pick<WireResult<"getMarket">, "clarifications">): Field[] =>
  clarifications.map(({ at, text }) => ["clarified", `${time(at, { seconds: true })}: ${text}`]);

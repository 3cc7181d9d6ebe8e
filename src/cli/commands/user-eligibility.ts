import type { WireResult } from "../../contract/operations.ts";
import type { CommandContext } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { knownUser, marketToFilterBy } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import { time, usd } from "../output/cells.ts";

type Verdict = WireResult<"getUserEligibility">["sell"];

/** One action of a user: whether it is allowed, and each reason on a line of its own. */
function verdictFields(action: string, { allowed, reasons }: Verdict): [string, string][] {
  return [
    [action, allowed ? "allowed" : "not allowed"],
    ...reasons.map(({ code, message, until, action: help }): [string, string] => {
      const end = until === null ? "" : `, until ${time(until, { seconds: true })}`;
      return ["reason", `${code}: ${message}${end}${help === null ? "" : ` (${HELP[help]})`}`];
    }),
  ];
}

const HELP: Record<NonNullable<Verdict["reasons"][number]["action"]>, string> = {
  verify: "the identity check helps",
  deposit: "a deposit helps",
  suitability: "the assessment helps",
  contact: "an operator can help",
};

export const userEligibility = defineCommand({
  name: "eligibility",
  summary: "show what a user may do now, and everything that stands against it",
  takes: (command) =>
    command
      .argument("<id>", "the user", identifier)
      .option(
        "--market <id>",
        "also check the rules of this market: its id, an id prefix, its key or @last",
        identifier,
      ),
  operation: "getUserEligibility",
  input: async ({ options, args: [id = ""] }: CommandContext<{ market?: string }>, api, session) => ({
    id: await knownUser(id, api),
    marketId: await marketToFilterBy(options.market, api, session),
  }),
  fields: ({ trade, sell, deposit, withdraw }) => [
    ...verdictFields("buy", trade),
    ["limit per trade", usd(trade.limits.maxTradeUsd)],
    ["exposure cap", usd(trade.limits.maxExposureUsd)],
    ["left of the cap", usd(trade.limits.remainingUsd)],
    ["balance", usd(trade.limits.balanceUsd)],
    ...verdictFields("sell", sell),
    ...verdictFields("deposit", deposit),
    ...verdictFields("withdraw", withdraw),
  ],
});

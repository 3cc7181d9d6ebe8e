import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { isOfType } from "../../domain/audit/audit-payloads.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Io } from "../command.ts";
import { PAGE } from "../input/paging.ts";
import { identifier } from "../input/parsers.ts";
import type { Choice } from "../input/prompts.ts";
import { price } from "../output/cells.ts";
import { sanitizeLine } from "../output/text-width.ts";

/** Each costs a request of the server's rate limit. */
const RECENTLY_HALTED = 10;

/**
 * How a verb of `market` learns which market it is about: the line names it, or the operator chooses it on a terminal.
 * @param offered the markets to choose from
 */
export function marketArgument(verb: string, offered = openMarkets) {
  return {
    takes: (command: Command) =>
      command.argument(
        "[id]",
        "the market's id, as `market list` shows it; on a terminal it can be chosen",
        identifier,
      ),
    /** @throws Fault USAGE when the line names no market and there is no terminal to choose one on */
    check: ({ args: [id], io }: MarketLine): void => {
      if (id === undefined && !io.prompts.available)
        throw new Fault("USAGE", `Which market? Name it: pmctl market ${verb} <id> (pmctl market list shows them)`);
    },
    input: async ({ args: [id], io }: MarketLine, api: Api): Promise<{ id: string }> => ({
      id: id ?? (await chooseMarket(api, io, offered)),
    }),
  };
}

type MarketLine = Pick<CommandContext<object>, "args" | "io">;

type Offer = Pick<WireResult<"getMarket">, "id" | "question" | "category" | "yesPrice">;

/** The markets that trade, as many as a page holds: typing narrows them down without asking the server again. */
export async function openMarkets(api: Api): Promise<readonly Offer[]> {
  return (await api.listMarkets({ limit: PAGE })).items;
}

/** The markets that were halted last and still are: the API lists open ones only, so the audit log says which. */
export async function suspendedMarkets(api: Api): Promise<readonly Offer[]> {
  const { entries } = await api.listAudit({ type: "market.suspended", limit: PAGE });
  const halts = entries.filter((entry) => isOfType(entry, "market.suspended"));
  const ids = [...new Set(halts.map(({ payload }) => payload.marketId))].slice(0, RECENTLY_HALTED);
  const markets = await Promise.all(ids.map((id) => api.getMarket({ id })));
  return markets.filter(({ status }) => status === "suspended");
}

/**
 * Lets the operator choose a market by typing words of its question. One that is not offered is typed by its id.
 * @param offered what there is to choose from
 */
export async function chooseMarket(
  api: Api,
  { prompts }: Pick<Io, "prompts">,
  offered: (api: Api) => Promise<readonly Offer[]> = openMarkets,
): Promise<string> {
  const choices = (await offered(api)).map(({ id, question, category, yesPrice }): Choice & { searched: string } => ({
    value: id,
    name: sanitizeLine(question),
    description: `${id}, ${category}, YES at ${price(yesPrice)}`,
    searched: `${id} ${question} ${category}`.toLowerCase(),
  }));
  return prompts.search("Which market? Type to search", (term) => {
    const words = term.toLowerCase().split(/\s+/);
    const found = choices.filter(({ searched }) => words.every((word) => searched.includes(word)));
    const isNew = term !== "" && !/\s/.test(term) && found.every(({ value }) => value !== term);
    return isNew ? [...found, { value: term, name: `the market with the id ${term}` }] : found;
  });
}

import type { Command } from "commander";
import type { TenantSession } from "../../app/tenant/session.ts";
import { PAGE } from "../../client/pages.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Io } from "../command.ts";
import { resolveId } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import type { Choice } from "../input/prompts.ts";
import { price } from "../output/cells.ts";

/**
 * Finds the market of a verb of `market`: the line names it, or the operator chooses it on a terminal.
 * @param offered the markets to choose from
 */
export function marketArgument(verb: string, offered = marketsIn("unsettled")) {
  return {
    takes: (command: Command) =>
      command.argument(
        "[id]",
        "the market: its id, an id prefix, its key, or @last for the one created last here; on a terminal you can choose",
        identifier,
      ),
    /** @throws Fault USAGE when the line names no market and there is no terminal */
    check: ({ args: [id], io }: MarketLine): void => {
      if (id === undefined && !io.prompts.available)
        throw new Fault("USAGE", `Name a market: pmctl market ${verb} <id> (pmctl market list shows them)`);
    },
    input: async (
      { args: [id], io }: MarketLine,
      api: Api,
      session: Pick<TenantSession, "tenant">,
    ): Promise<{ id: string }> => ({
      id: id === undefined ? await chooseMarket(api, io, offered) : await resolveId("market", id, api, session),
    }),
  };
}

type MarketLine = Pick<CommandContext<object>, "args" | "io">;

type Offer = WireResult<"listMarkets">["items"][number];

/**
 * One page of markets in these states, those that closed first at the top: typing narrows them down without another
 * request.
 */
export function marketsIn(status: string): (api: Api) => Promise<readonly Offer[]> {
  return async (api) => (await api.listMarkets({ status, limit: PAGE })).items;
}

/**
 * Lets the operator choose a market by typing words of its question, or type the id of a market that is not offered.
 * @param offered the markets to choose from
 */
export async function chooseMarket(
  api: Api,
  { prompts }: Pick<Io, "prompts">,
  offered: (api: Api) => Promise<readonly Offer[]> = marketsIn("unsettled"),
): Promise<string> {
  const choices = (await offered(api)).map(
    ({ id, question, category, yesPrice, status }): Choice & { searched: string } => ({
      value: id,
      name: question,
      description: `${id}, ${status ?? "open"}, ${category}, YES at ${price(yesPrice)}`,
      searched: `${id} ${question} ${category}`.toLowerCase(),
    }),
  );
  return prompts.search("Which market? Type to search", (term) => {
    const words = term.toLowerCase().split(/\s+/);
    const found = choices.filter(({ searched }) => words.every((word) => searched.includes(word)));
    const isNew = term !== "" && !/\s/.test(term) && found.every(({ value }) => value !== term);
    return isNew ? [...found, { value: term, name: `the market with the id ${term}` }] : found;
  });
}

import type { Api } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";
import { price } from "./cells.ts";
import type { Io } from "./command.ts";
import type { Choice } from "./prompts.ts";
import { oneLine } from "./text-width.ts";

/** As many as one page of the interface holds: typing narrows them down without asking the server again. */
const OFFERED = 200;

/**
 * Whether the market is known, or somebody is there to choose one.
 * @throws Fault USAGE when it is not and nobody is
 */
export function requireMarketId(id: string | undefined, { prompts }: Pick<Io, "prompts">, command: string): void {
  if (id === undefined && !prompts.available)
    throw new Fault("USAGE", `Which market? Name it: pmctl ${command} <id> (pmctl market list shows them)`);
}

/** Lets the operator choose an open market by typing words of its question. Any other market is typed by its id. */
export async function chooseMarket(api: Api, { prompts }: Pick<Io, "prompts">): Promise<string> {
  const { items } = await api.listMarkets({ limit: OFFERED });
  const choices = items.map(({ id, question, category, yesPrice }): Choice & { searched: string } => ({
    value: id,
    name: oneLine(question),
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

import type { AppliedMarket, Desired, LiveConfig } from "./plan-types.ts";

/** What a file means by a key. */
export interface FoundMarket {
  /** None where it is still to be created. */
  market?: AppliedMarket | undefined;
  /** How the market gets the key; undefined where it has it. `live` is the key or the id that it goes by until then. */
  naming?: { kind: "move" | "import"; live: string };
  problem?: string;
}

/**
 * What the key means once the file's `import` counts: the market of that id, where no market has the key yet. Where that
 * market has it already, `import` has done its work and may stay.
 */
export function withImport(
  key: string,
  found: FoundMarket,
  { document, imports = {} }: Pick<Desired, "document" | "imports">,
  { markets, unkeyed = [] }: Pick<LiveConfig, "markets" | "unkeyed">,
): FoundMarket {
  const id = imports[key];
  if (id === undefined || found.problem !== undefined || found.market?.id === id) return found;
  if (found.market) return { ...found, problem: `this key is the market ${found.market.id}'s, and not ${id}'s` };
  const keyed = markets.find((market) => market.id === id);
  if (keyed && Object.hasOwn(document.declared, keyed.key))
    return { problem: `the market ${id} is ${keyed.key}, which is declared too: take one of the two out` };
  if (keyed) return { problem: `the market ${id} has the key ${keyed.key}: \`moved: ${keyed.key}\` gives it this one` };
  const market = unkeyed.find((each) => each.id === id);
  if (!market) return { problem: `the tenant has no market ${id} that is not settled` };
  return { market: { ...market, key, formerKeys: [] }, naming: { kind: "import", live: id } };
}

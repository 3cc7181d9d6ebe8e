import type { PlacedMarket } from "../config/tenant-files/market-files.ts";
import type { LiveConfig, UnsettledMarket } from "./plan-types.ts";

/** A market as a file is to state it; dollars, and `closeAt` in ISO 8601. */
export type PulledMarket = ReturnType<typeof asStated>;

/** A key has no more. */
const MOST_CHARACTERS = 64;

/**
 * The unsettled markets that no file states, as files would: with the id in `import`, and with the key that they have, or one
 * made of the question.
 * @param taken further names that no key may be made of
 */
export function pulledMarkets(
  unsettled: readonly UnsettledMarket[],
  files: readonly PlacedMarket[],
  { markets }: Pick<LiveConfig, "markets">,
  taken: Iterable<string>,
): PulledMarket[] {
  const stated = new Set(files.flatMap(({ key, moved = key }) => [key, moved]));
  const imported = new Set(files.map((market) => market.import));
  const used = new Set([...taken, ...stated, ...markets.flatMap(({ key, formerKeys }) => [key, ...formerKeys])]);
  return unsettled
    .filter(({ id, key }) => !imported.has(id) && (key === null || !stated.has(key)))
    .map((market) => {
      const key = market.key ?? freeKey(market.question, used);
      used.add(key);
      return asStated(key, market);
    });
}

function asStated(key: string, { id, closeAt, status, key: _, ...terms }: UnsettledMarket) {
  const state = status === "suspended" ? "suspended" : "open";
  return { key, import: id, ...terms, closeAt: new Date(closeAt).toISOString(), state };
}

/** The question in the characters of a key, with a number behind it where that one is used. */
export function freeKey(question: string, used: ReadonlySet<string>): string {
  const plain = question.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "market";
  for (let number = 1; ; number += 1) {
    const end = number === 1 ? "" : `-${number}`;
    const key = `${slug.slice(0, MOST_CHARACTERS - end.length).replace(/-$/, "")}${end}`;
    if (!used.has(key)) return key;
  }
}

import type { FrameList } from "../../contract/resources/embed.ts";

export type ListedMarket = FrameList["items"][number];

/** Markets of the category with all of the words in their question. */
export function narrowed(items: readonly ListedMarket[], words: string, category: string): ListedMarket[] {
  const each = words.toLocaleLowerCase().split(/\s+/);
  return items.filter((market) => {
    const text = market.question.toLocaleLowerCase();
    return (category === "" || market.category === category) && each.every((word) => text.includes(word));
  });
}

/** A page and the one after it. A market that moved up meanwhile is in both, and is shown once. */
export function joined(before: FrameList, next: FrameList): FrameList {
  const known = new Set(before.items.map(({ id }) => id));
  return {
    items: [...before.items, ...next.items.filter(({ id }) => !known.has(id))],
    nextCursor: next.nextCursor,
    sparks: { ...before.sparks, ...next.sparks },
  };
}

/** The first page read again: pages that had been added stay behind it. */
export function renewed(before: FrameList, first: FrameList): FrameList {
  if (before.items.length <= first.items.length) return first;
  return { ...joined(first, before), sparks: { ...before.sparks, ...first.sparks } };
}

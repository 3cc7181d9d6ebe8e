import { Option } from "commander";
import { count } from "./parsers.ts";

/** As many as one page of the interface holds. */
export const PAGE = 200;
export const DEFAULT_LIMIT = 50;

/** `--limit` of the commands that list. */
export function limitOption(): Option {
  return new Option("--limit <n>", `how many at the most (default: ${DEFAULT_LIMIT})`).argParser(count);
}

/**
 * Reads a list page by page until there are `limit` items, or no more.
 * @param limit as `--limit` says; its default unless given
 * @param read one page; `cursor` is undefined for the first
 * @returns the items, and where the next ones are; null when these are all
 */
export async function readPages<Item>(
  limit: number = DEFAULT_LIMIT,
  read: (page: { limit: number; cursor: string | undefined }) => Promise<{ items: Item[]; nextCursor: string | null }>,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const page = await read({ limit: Math.min(limit - items.length, PAGE), cursor: cursor ?? undefined });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < limit);
  return { items, nextCursor: cursor };
}

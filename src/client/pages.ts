/** The size of a page of the API. */
export const PAGE = 200;

interface Page<Item> {
  items: Item[];
  nextCursor: string | null;
}

type ReadPage<Item> = (page: { limit: number; cursor: string | undefined }) => Promise<Page<Item>>;

/**
 * Reads a list page by page, up to `limit` items.
 * @param read reads one page; `cursor` is undefined for the first
 * @param from where the first page begins
 * @returns the items, and the cursor of the next ones; null when these are all
 */
export async function readPages<Item>(limit: number, read: ReadPage<Item>, from?: string): Promise<Page<Item>> {
  const items: Item[] = [];
  let cursor = from ?? null;
  do {
    const page = await read({ limit: Math.min(limit - items.length, PAGE), cursor: cursor ?? undefined });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < limit);
  return { items, nextCursor: cursor };
}

/** All items of a list. */
export async function everyPage<Item>(read: ReadPage<Item>): Promise<Item[]> {
  return (await readPages(Number.POSITIVE_INFINITY, read)).items;
}

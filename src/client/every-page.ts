/** As many as one page of the interface holds. */
const PAGE = 200;

/** All items of a list. */
export async function everyPage<Item>(
  read: (page: { limit: number; cursor?: string }) => Promise<{ items: Item[]; nextCursor: string | null }>,
): Promise<Item[]> {
  const { items, nextCursor } = await read({ limit: PAGE });
  let cursor = nextCursor;
  while (cursor !== null) {
    const page = await read({ limit: PAGE, cursor });
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

import type { Api } from "../../contract/operations.ts";
import type { SeenValues } from "./seen-values.ts";

/** The most markets and users that a refresh reads, in pages of {@link PAGE}. */
const MOST = 1000;
const PAGE = 200;

/** The same operations, which also note the names and ids of their answers for the shell's completion. */
export function rememberingValues(api: Api, seen: SeenValues): Api {
  return {
    ...api,
    listMarkets: async (input) => {
      const page = await api.listMarkets(input);
      seen.note({ markets: page.items.flatMap(namesOf) });
      return page;
    },
    createMarket: async (input) => {
      const created = await api.createMarket(input);
      seen.note({ markets: namesOf({ id: created.id, key: input.key }) });
      return created;
    },
    listKeys: async (input) => {
      const keys = await api.listKeys(input);
      seen.note({ keys: keys.filter(({ active }) => active).map(({ name }) => name) });
      return keys;
    },
    createKey: async (input) => {
      const created = await api.createKey(input);
      seen.note({ keys: [created.name] });
      return created;
    },
    listUsers: async (input) => {
      const page = await api.listUsers(input);
      seen.note({ users: page.items.map(({ userId }) => userId) });
      return page;
    },
  };
}

/** Reads the values for completion: the unsettled markets, the active keys, the first users. */
export async function refreshValues(api: Api, seen: SeenValues): Promise<void> {
  const [markets, keys, users] = await Promise.all([
    firstOf((page) => api.listMarkets({ status: "unsettled", ...page })),
    api.listKeys({}),
    firstOf((page) => api.listUsers(page)),
  ]);
  const shown = {
    markets: markets.flatMap(namesOf),
    keys: keys.filter(({ active }) => active).map(({ name }) => name),
    users: users.map(({ userId }) => userId),
  };
  seen.note(shown, true);
}

/** The names that an operator may type for a market. */
function namesOf({ id, key }: { id: string; key?: string | null | undefined }): string[] {
  return key ? [key, id] : [id];
}

async function firstOf<Item>(
  read: (page: { limit: number; cursor?: string }) => Promise<{ items: Item[]; nextCursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && items.length < MOST);
  return items;
}

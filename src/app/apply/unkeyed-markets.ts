import { everyPage } from "../../client/every-page.ts";
import type { Api } from "../../contract/operations.ts";
import type { Desired, LiveConfig, UnsettledMarket } from "../../plan/plan-types.ts";

/** The markets that are not settled, those without a key too. */
export async function readUnsettled(api: Api): Promise<UnsettledMarket[]> {
  const markets = await everyPage((page) => api.listUnsettledMarkets(page));
  return markets.map(({ closeAt, ...market }) => ({ ...market, closeAt: Date.parse(closeAt) }));
}

/** Adds the markets without a key where the files take one over that has none yet; most plans ask for nothing. */
export async function withUnkeyed(
  live: LiveConfig,
  { document, imports = {} }: Desired,
  api: Api | undefined,
): Promise<LiveConfig> {
  const keyed = new Set(live.markets.map(({ id }) => id));
  const isAsked = Object.entries(imports).some(([key, id]) => Object.hasOwn(document.declared, key) && !keyed.has(id));
  if (!isAsked) return live;
  const markets = api ? await readUnsettled(api) : [];
  return { ...live, unkeyed: markets.filter(({ key }) => key === null) };
}

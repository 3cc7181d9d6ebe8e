import { readLastMarket } from "../../app/tenant/last-market.ts";
import type { TenantSession } from "../../app/tenant/session.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type IdKind, isWholeId, shortId, type TimedKind } from "../../domain/market/short-id.ts";
import { nearest } from "../../domain/nearest.ts";

const LAST = "@last";

/** The most users or markets among which the one is sought that an operator may have meant. */
const LIKELY = 200;

type Matches = WireResult<"findIds">[number]["matches"];

/**
 * Resolves the text that an operator typed: a whole id, an id prefix, a market's key, or `@last` for the market that
 * was created last in this directory. An unknown text is returned as it is, and the operation refuses it.
 *
 * @throws Fault AMBIGUOUS for a prefix of several ids; NOT_FOUND for `@last` before any market was created;
 * MARKET_NOT_FOUND for what is nearly a market's key
 */
export async function resolveId(
  kind: TimedKind,
  text: string,
  api: Api,
  { tenant }: Pick<TenantSession, "tenant">,
): Promise<string> {
  if (isWholeId(kind, text)) return text;
  if (kind === "market" && text === LAST) {
    const last = await readLastMarket(tenant);
    if (last === undefined) throw new Fault("NOT_FOUND", "No market was created in this directory yet");
    return last;
  }
  const found = await wholeId([kind], text, api);
  if (found === undefined && kind === "market") await refuseNearKey(text, api);
  return found ?? text;
}

/** @throws Fault MARKET_NOT_FOUND naming the nearest key, where one of the likely markets has one */
async function refuseNearKey(text: string, api: Api): Promise<void> {
  // A key that may not list them gets the error of the operation, without a hint.
  const { items } = await api.listMarkets({ status: "all", limit: LIKELY }).catch(() => ({ items: [] }));
  const meant = nearest(
    text,
    items.flatMap(({ key }) => key ?? []),
  );
  if (meant !== undefined) throw new Fault("MARKET_NOT_FOUND", `Market not found; did you mean ${meant}?`);
}

/**
 * Resolves the market that filters a list. An unknown market is an error here, because its empty list would look like
 * that of a market without events.
 * @throws also Fault MARKET_NOT_FOUND
 */
export async function marketToFilterBy(
  text: string | undefined,
  api: Api,
  session: Pick<TenantSession, "tenant">,
): Promise<string | undefined> {
  if (text === undefined) return undefined;
  return (await api.getMarket({ id: await resolveId("market", text, api, session) })).id;
}

/** The result; undefined for the error NOT_FOUND. */
export async function unlessMissing<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Fault && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** Whether the tenant has seen a user. @param api the operator's */
export async function isKnownUser(id: string, api: Api): Promise<boolean> {
  return (await unlessMissing(api.getUser({ id }))) !== undefined;
}

/**
 * A user that the tenant has seen. The API answers a new trader like a user without money, but an operator who types an
 * unknown id has most likely misspelled it.
 * @param api the operator's
 * @param otherwise how the command accepts an unknown user
 * @throws Fault NOT_FOUND naming the nearest id
 */
export async function knownUser(id: string, api: Api, otherwise?: string): Promise<string> {
  if (await isKnownUser(id, api)) return id;
  const { items } = await api.listUsers({ limit: LIKELY });
  const meant = nearest(
    id,
    items.map(({ userId }) => userId),
  );
  const hint = meant === undefined ? "pmctl user list shows all users" : `did you mean ${meant}?`;
  throw new Fault("NOT_FOUND", [`There is no user ${id}`, hint, ...(otherwise ? [otherwise] : [])].join("; "));
}

/**
 * The one id of these kinds with this prefix; undefined where there is none.
 * @throws Fault AMBIGUOUS for a prefix of several ids
 */
export async function wholeId(kinds: readonly IdKind[], text: string, api: Api): Promise<string | undefined> {
  if (text === "") return undefined;
  const found = await Promise.all(kinds.map((kind) => api.findIds({ kind, refs: text })));
  const matches = found.flat().flatMap((each) => each.matches);
  if (matches.length > 1) throw new Fault("AMBIGUOUS", meanings(text, matches));
  return matches[0]?.id;
}

/** All meanings of an ambiguous text. A market's key does not win over the prefix of another market's id. */
function meanings(text: string, matches: Matches): string {
  const keyed = matches.filter(({ id }) => !beginsSo(id, text));
  const begun = matches.filter(({ id }) => beginsSo(id, text));
  if (keyed.length === 0) return `${text} is the beginning of ${named(begun)}`;
  return `${text} is the key of ${named(keyed)} and the beginning of ${named(begun)}: name the market by more of its id`;
}

/** Whether an id has this prefix, with or without its own `mkt_` or the like. */
function beginsSo(id: string, text: string): boolean {
  return id.startsWith(text) || id.slice(id.indexOf("_") + 1).startsWith(text);
}

function named(matches: Matches): string {
  const some = matches.slice(0, 10).map(({ id, label }) => `${id} (${label})`);
  return [...some, ...(matches.length > some.length ? ["more"] : [])].join(", ");
}

/** Each round lengthens the prefixes that several ids share. */
const MOST_ROUNDS = 4;

/**
 * For each id the prefix that commands accept, without `mkt_` or the like unless it would then be a market's key. Takes
 * one request as a rule, whose answer also names other ids with the same prefix.
 */
export async function shortIds(kind: TimedKind, ids: readonly string[], api: Api): Promise<Map<string, string>> {
  const short = new Map(ids.map((id) => [id, shortId(kind, id, ids)]));
  const known = [...ids];
  let open = ids.filter((id) => isWholeId(kind, id));
  for (let round = 0; open.length > 0 && round < MOST_ROUNDS; round++) {
    const refs = open.map((id) => short.get(id) ?? id);
    const found = await api.findIds({ kind, refs: refs.join(",") });
    const matches = new Map(found.map((each) => [each.ref, each.matches.map((match) => match.id)]));
    open = open.filter((id, index) => {
      const ref = refs[index] ?? "";
      const others = (matches.get(ref) ?? []).filter((other) => other !== id);
      if (others.some((other) => !beginsSo(other, ref))) short.set(id, id.slice(0, id.indexOf("_") + 1) + ref);
      known.push(...others);
      return others.some((other) => beginsSo(other, ref));
    });
    for (const id of open) short.set(id, shortId(kind, id, known));
  }
  for (const id of open) short.set(id, id);
  return short;
}

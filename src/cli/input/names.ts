import { readLastMarket } from "../../app/tenant/last-market.ts";
import type { Session } from "../../app/tenant/session.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type IdKind, isWholeId, shortId, type TimedKind } from "../../domain/market/short-id.ts";

const LAST = "@last";

type Matches = WireResult<"findIds">[number]["matches"];

/**
 * The id that an operator means: an id in full, the beginning of one, a market's key, or `@last` for the market that
 * was created last in this directory. A text that stands for nothing is returned as it is, for the operation to refuse.
 *
 * @throws Fault AMBIGUOUS naming what several ids begin so; NOT_FOUND for `@last` before any market was created
 */
export async function resolveId(
  kind: TimedKind,
  text: string,
  api: Api,
  { tenant }: Pick<Session, "tenant">,
): Promise<string> {
  if (isWholeId(kind, text)) return text;
  if (kind === "market" && text === LAST) {
    const last = await readLastMarket(tenant);
    if (last === undefined) throw new Fault("NOT_FOUND", "No market was created in this directory yet");
    return last;
  }
  return (await wholeId([kind], text, api)) ?? text;
}

/**
 * The one id of any of these kinds that begins so; undefined where none does.
 * @throws Fault AMBIGUOUS naming what several ids begin so
 */
export async function wholeId(kinds: readonly IdKind[], text: string, api: Api): Promise<string | undefined> {
  if (text === "") return undefined;
  const found = await Promise.all(kinds.map((kind) => api.findIds({ kind, refs: text })));
  const matches = found.flat().flatMap((each) => each.matches);
  if (matches.length > 1) throw new Fault("AMBIGUOUS", `${text} is the beginning of ${named(matches)}`);
  return matches[0]?.id;
}

function named(matches: Matches): string {
  const some = matches.slice(0, 10).map(({ id, label }) => `${id} (${label})`);
  return [...some, ...(matches.length > some.length ? ["more"] : [])].join(", ");
}

/** For each id a beginning that commands take for it. One request, whose answer says which other ids begin so. */
export async function shortIds(kind: TimedKind, ids: readonly string[], api: Api): Promise<Map<string, string>> {
  const short = new Map(ids.map((id) => [id, shortId(kind, id, ids)]));
  const asked = [...short].filter(([id]) => isWholeId(kind, id));
  if (asked.length === 0) return short;
  const found = await api.findIds({ kind, refs: asked.map(([, ref]) => ref).join(",") });
  const matches = new Map(found.map((each) => [each.ref, each.matches.map(({ id }) => id)]));
  return new Map(ids.map((id) => [id, shortId(kind, id, [...ids, ...(matches.get(short.get(id) ?? "") ?? [])])]));
}

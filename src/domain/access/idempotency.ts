import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "../audit/audit-link.ts";
import { DAY_MS } from "../time/units.ts";

/** How long the first answer to an `Idempotency-Key` is repeated. */
export const ANSWER_LIFE_MS = DAY_MS;

/** A request whose repeats get its first answer. */
export interface Idempotency {
  /** Who sent it, as {@link keyHolder} names them: the keys of two callers have nothing to do with each other. */
  caller: string;
  key: string;
  requestHash: string;
}

/**
 * The id of what a request with a key makes, a trade or an operator's credit or debit: the day, counted from 1970, and what follows from the key. A repeat
 * whose stored answer was deleted makes the same id, which tells that it was made before. A day later the key makes another
 * one, as the answer counts for a day.
 * @param prefix such as `trd`
 * @param now by the database's clock
 */
export function keyedId(prefix: string, of: Pick<Idempotency, "caller" | "key">, now: number): string {
  const day = Math.floor(now / ANSWER_LIFE_MS).toString(16);
  return `${prefix}_${day.padStart(4, "0")}${keyDigits(of)}`;
}

/** What of such an id follows from the key. */
export function keyDigits({ caller, key }: Pick<Idempotency, "caller" | "key">): string {
  return createHash("sha256").update(`pmctl-keyed-id-v1\n${caller}\n${key}`).digest("hex").slice(0, 28);
}

/** What an `Idempotency-Key` may be. */
export const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** What names a request instead of its body. */
export const FINGERPRINT = /^[0-9a-f]{64}$/;

/** The words of times that were said relative to now, such as `2h`, by the instants that they mean in a request's body. */
export type RelativeTimes = ReadonlyMap<string, string>;

/**
 * Names a body by what was said instead of by the instants in it: `2h`, repeated an hour later, means the same request.
 * Undefined where nothing in the body was said so, and its bytes name it.
 */
export function fingerprintOf(body: string, said: RelativeTimes | undefined): string | undefined {
  let words = body;
  for (const [instant, word] of said ?? []) words = words.replaceAll(instant, word);
  return words === body ? undefined : createHash("sha256").update(words).digest("hex");
}

/** Names a request by what was asked, where the body also holds what was live then. */
export function fingerprintOfAsked(asked: Json): string {
  return createHash("sha256").update(canonicalJson(asked)).digest("hex");
}

/** Names a request by its decoded input: neither the order of its fields nor how its numbers were written counts. */
export function inputText(input: object): string {
  const text = JSON.stringify(input, (_, value) => (typeof value === "bigint" ? String(value) : value));
  return canonicalJson(JSON.parse(text) as Json);
}

/**
 * The holder of an idempotency key: the API key of the request and, behind a public one, the user. An operator who acts for
 * a user is the one who repeats: the user is then part of the request, and another user's is another request.
 */
export function keyHolder(
  apiKey: { type: string; name: string } | undefined,
  userId: string | undefined,
): { caller: string; onBehalfOf?: string | undefined } {
  const holder = `${apiKey?.type}:${apiKey?.name}:`;
  return apiKey?.type === "public" ? { caller: `${holder}${userId ?? ""}` } : { caller: holder, onBehalfOf: userId };
}

/**
 * What tells one request from another, in hex.
 * @param line method and path, with the query of an operation that has its fields there, and the user for whom an operator acts
 * @param body the text of the decoded input, or the fingerprint that names it
 * @param policyTtlMs how long a change of the policy holds; undefined for one that stays
 */
export function requestHash(
  line: { method: string; target: string; onBehalfOf?: string | undefined },
  body: string,
  policyTtlMs?: number,
): string {
  const { method, target, onBehalfOf } = line;
  const hash = createHash("sha256").update(`${method}\n${target}\n`);
  if (onBehalfOf !== undefined) hash.update(`user:${onBehalfOf}\n`);
  hash.update(body);
  if (policyTtlMs !== undefined) hash.update(`\n${policyTtlMs}`);
  return hash.digest("hex");
}

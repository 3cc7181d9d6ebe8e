import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "../audit/audit-link.ts";
import { DAY_MS } from "../time/units.ts";

/** How long the first answer to an `Idempotency-Key` is repeated. */
export const ANSWER_LIFE_MS = DAY_MS;

/** A request whose repeats get the answer of the first. */
export interface Idempotency {
  /** The caller, named by {@link keyHolder}: the idempotency keys of different callers are independent. */
  caller: string;
  key: string;
  requestHash: string;
}

/**
 * The id of an object created by a request with a key (a trade, or an operator's credit or debit): the day since 1970,
 * and digits derived from the key. If the stored answer was deleted, a repeat creates the same id, which shows that the
 * object exists. After a day, when the answer has expired, the key leads to another id.
 * @param prefix such as `trd`
 * @param now by the database's clock
 */
export function keyedId(prefix: string, of: Pick<Idempotency, "caller" | "key">, now: number): string {
  const day = Math.floor(now / ANSWER_LIFE_MS).toString(16);
  return `${prefix}_${day.padStart(4, "0")}${keyDigits(of)}`;
}

/** The digits of such an id that follow from the key. */
export function keyDigits({ caller, key }: Pick<Idempotency, "caller" | "key">): string {
  return createHash("sha256").update(`pmctl-keyed-id-v1\n${caller}\n${key}`).digest("hex").slice(0, 28);
}

/** The form of a fingerprint, which identifies a request instead of its body. */
export const FINGERPRINT = /^[0-9a-f]{64}$/;

/** Relative times that the user wrote, such as `2h`, by the resulting instants in a request's body. */
export type RelativeTimes = ReadonlyMap<string, string>;

/**
 * Identifies a body by the relative times that the user wrote instead of the instants in it: `2h`, repeated an hour
 * later, is the same request. Undefined if the body contains no relative time, so that its bytes identify it.
 */
export function fingerprintOf(body: string, said: RelativeTimes | undefined): string | undefined {
  let words = body;
  for (const [instant, word] of said ?? []) words = words.replaceAll(instant, word);
  return words === body ? undefined : createHash("sha256").update(words).digest("hex");
}

/** Identifies a request by the user's words, if its body also contains live data. */
export function fingerprintOfAsked(asked: Json): string {
  return createHash("sha256").update(canonicalJson(asked)).digest("hex");
}

/** Identifies a request by its decoded input, regardless of the order of fields and the notation of numbers. */
export function inputText(input: object): string {
  const text = JSON.stringify(input, (_, value) => (typeof value === "bigint" ? String(value) : value));
  return canonicalJson(JSON.parse(text) as Json);
}

/**
 * The holder of an idempotency key: the request's API key and, with a public key, the user. If an operator acts for a
 * user, the operator is the holder: the user is part of the request, so the same key for another user is another request.
 */
export function keyHolder(
  apiKey: { type: string; name: string } | undefined,
  userId: string | undefined,
): { caller: string; onBehalfOf?: string | undefined } {
  const holder = `${apiKey?.type}:${apiKey?.name}:`;
  return apiKey?.type === "public" ? { caller: `${holder}${userId ?? ""}` } : { caller: holder, onBehalfOf: userId };
}

/**
 * The hash that distinguishes requests, in hex.
 * @param line method and path, with the query if the operation has its fields there, and the user for whom an operator acts
 * @param body the text of the decoded input, or its fingerprint
 * @param policyTtlMs how long a policy change lasts; undefined for a permanent change
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

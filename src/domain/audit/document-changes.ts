import { isMapping } from "../json/mapping.ts";
import { isSame, type Json } from "./audit-link.ts";

/** A configuration document, as an apply stored it. Sections that did not exist at the time are missing. */
export type StoredDocument = Readonly<{ [section: string]: Json | undefined }>;

const KINDS = ["policy", "markets", "keys", "settings"] as const;
export type ChangeKind = (typeof KINDS)[number];

/** A field that differs between two documents. */
export interface DocumentChange {
  /** Named as in plans: `policy.maxTradeUsd`, `keys.ops`, `markets.rain` or `rateLimit.perMinute`. */
  field: string;
  /** Null if the document does not state the field. */
  before: Json;
  after: Json;
}

/** Changes by topic. */
export type ChangesByKind = Record<ChangeKind, DocumentChange[]>;

/** Settings that are listed even at a first apply, where every other setting is new. */
const LIMITS = ["kyc.required", "markets.liquidityUsd", "treasury.capitalUsd"];
/** References of keys and patterns of files are omitted: the keyring and the markets themselves show the result. */
const TOLD_ELSEWHERE = ["keys", "markets.files"];

/**
 * The differences between the documents of two applies, each with the live values that it kept. A list counts as one value.
 * @param before undefined before the first apply
 */
export function changesByKind(before: StoredDocument | undefined, after: StoredDocument): ChangesByKind {
  const [was, is] = [partsOf(before ?? {}), partsOf(after)];
  const settings = changed(was.settings, is.settings);
  return {
    policy: changed(was.policy, is.policy),
    markets: changed(was.markets, is.markets),
    keys: changed(was.keys, is.keys),
    settings: before === undefined ? settings.filter(({ field }) => LIMITS.includes(field)) : settings,
  };
}

/** The policy fields that an apply wrote, as its entry states them. */
export type WrittenPolicy = Readonly<{ [field: string]: { from: Json; to: Json } }>;

/** Adds the values that an apply wrote over live values outside any document, such as reverted drift. */
export function withWritten(changes: ChangesByKind, written: WrittenPolicy): ChangesByKind {
  const sideOf = (side: "from" | "to") =>
    leavesOf(Object.fromEntries(Object.entries(written).map(([field, change]) => [field, change[side]])), "policy");
  const live = changed(sideOf("from"), sideOf("to"));
  const stated = changes.policy.filter(({ field }) => !live.some((each) => each.field === field));
  return { ...changes, policy: [...stated, ...live].sort((a, b) => (a.field < b.field ? -1 : 1)) };
}

/** The names of all fields of a document. */
export function fieldsOfDocument(document: StoredDocument): string[] {
  const parts = partsOf(document);
  return KINDS.flatMap((kind) => [...parts[kind].keys()]);
}

/** All changes, in the order of plans. */
export function listChanges(changes: ChangesByKind): DocumentChange[] {
  return KINDS.flatMap((kind) => changes[kind]);
}

/** The number of changed fields of each kind; a market counts once, however many of its terms differ. */
export function countChanges(changes: ChangesByKind): Record<ChangeKind, number> {
  const { policy, markets, keys, settings } = changes;
  return { policy: policy.length, markets: markets.length, keys: keys.length, settings: settings.length };
}

type Values = Map<string, Json>;

function changed(was: Values, is: Values): DocumentChange[] {
  const fields = [...new Set([...was.keys(), ...is.keys()])].sort();
  return fields.flatMap((field) => {
    const [before, after] = [was.get(field) ?? null, is.get(field) ?? null];
    return isSame(before, after) ? [] : [{ field, before, after }];
  });
}

function partsOf(document: StoredDocument): Record<ChangeKind, Values> {
  const { policy, keyring = {}, declared = {}, adopted = {}, ...settings } = document;
  const parts = {
    policy: leavesOf(policy, "policy"),
    markets: new Map(Object.entries(declared ?? {}).map(([key, terms]) => [`markets.${key}`, shownTerms(terms)])),
    keys: new Map(Object.entries(keyring ?? {}).map(([name, key]) => [`keys.${name}`, key ?? null])),
    settings: leavesOf(settings, ""),
  };
  for (const [field, live = null] of Object.entries(adopted ?? {})) keep(parts, field, live);
  return parts;
}

/** Replaces the file's value with a live value that an apply kept. */
function keep({ policy, markets, settings }: Record<ChangeKind, Values>, field: string, live: Json): void {
  const terms = markets.get(field);
  if (isMapping(terms)) markets.set(field, { ...terms, state: live });
  else if (policy.has(field)) policy.set(field, live);
  else if (settings.has(field)) settings.set(field, live);
}

/** Every value below a path that is not a mapping, by its path. */
export function leavesOf(value: Json | undefined, path: string, leaves: Values = new Map()): Values {
  if (value === undefined || TOLD_ELSEWHERE.includes(path)) return leaves;
  if (!isMapping(value)) return leaves.set(path, value);
  for (const [name, part] of Object.entries(value)) leavesOf(part, path === "" ? name : `${path}.${name}`, leaves);
  return leaves;
}

/** Formats instants, which documents store in milliseconds. */
function shownTerms(terms: Json | undefined): Json {
  if (!isMapping(terms) || typeof terms.closeAt !== "number") return terms ?? null;
  return { ...terms, closeAt: new Date(terms.closeAt).toISOString() };
}

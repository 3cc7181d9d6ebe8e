import { Fault } from "../fault.ts";
import { nearest } from "../nearest.ts";

/** What an admin key may be kept to; each operation for operators asks for one. */
export const OPERATION_SCOPES = ["read", "markets", "settle", "funds", "users", "config", "keys"] as const;
/** In the order in which lists of them are kept. `*` is all there are and all that come. */
export const SCOPES = [...OPERATION_SCOPES, "*"] as const;

export type OperationScope = (typeof OPERATION_SCOPES)[number];
export type Scope = (typeof SCOPES)[number];

export type KeyType = "admin" | "public";

/** Of a key for which none are stated: a public key needs none. */
export function usualScopes(type: KeyType): readonly Scope[] {
  return type === "admin" ? ["*"] : [];
}

/** The same set in its one notation. */
export function normalScopes(scopes: readonly Scope[]): Scope[] {
  return scopes.includes("*") ? ["*"] : SCOPES.filter((scope) => scopes.includes(scope));
}

/** Whether a key with these scopes may do all that one with those may. */
export function coversScopes(held: readonly Scope[], asked: readonly Scope[]): boolean {
  return firstLacking(held, asked) === undefined;
}

/**
 * @param held undefined for a caller that no scopes bind: the tenant file's owner, straight at the database
 * @param purpose what the scope is needed for, to stand behind "needs the scope …"
 * @throws Fault SCOPE_REQUIRED naming the first scope that is lacking
 */
export function requireScopes(held: readonly Scope[] | undefined, asked: readonly Scope[], purpose = ""): void {
  const scope = held && firstLacking(held, asked);
  if (scope === undefined) return;
  const behind = purpose === "" ? "" : ` ${purpose}`;
  throw new Fault("SCOPE_REQUIRED", `This needs the scope ${scope}${behind}: the key in use lacks it`, {
    detail: { scope },
  });
}

/** What of an apply is the work of operations that have scopes of their own. */
export interface ApplyWork {
  createsMarkets: boolean;
  suspendsOrResumes: boolean;
  addsCapital: boolean;
  /** Makes, changes or ends some. */
  changesKeys: boolean;
  /** Keys that come into being or change. */
  given: readonly { name: string; scopes: readonly Scope[] }[];
}

/** The scopes that an apply asks for beside `config`, each with what it is needed for. */
export function scopesOfApply(work: ApplyWork): { scope: Scope; purpose: string }[] {
  const asked: { scope: Scope; purpose: string }[] = [];
  if (work.createsMarkets) asked.push({ scope: "markets", purpose: "because it creates markets" });
  if (work.suspendsOrResumes) asked.push({ scope: "markets", purpose: "because it suspends or resumes markets" });
  if (work.addsCapital) asked.push({ scope: "funds", purpose: "because it adds capital to the treasury" });
  if (work.changesKeys) asked.push({ scope: "keys", purpose: "because it changes keys" });
  for (const { name, scopes } of work.given)
    for (const scope of scopes) asked.push({ scope, purpose: `to give it to ${name}` });
  return asked;
}

function firstLacking(held: readonly Scope[], asked: readonly Scope[]): Scope | undefined {
  return held.includes("*") ? undefined : asked.find((scope) => !held.includes(scope));
}

export function isScope(text: unknown): text is Scope {
  return (SCOPES as readonly unknown[]).includes(text);
}

/** What is said of a text that is no scope. */
export function noScope(text: string): string {
  const meant = nearest(text, SCOPES);
  const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
  return `must be one of ${SCOPES.join(", ")}${hint}`;
}

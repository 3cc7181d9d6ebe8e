import { Fault } from "../fault.ts";
import { nearest } from "../nearest.ts";

/** The scopes that can limit an admin key; each operator operation requires one of them. */
export const OPERATION_SCOPES = [
  "read",
  "config:read",
  "markets",
  "settle",
  "funds",
  "users",
  "config",
  "keys",
] as const;
/** In the order of normalised lists. `*` covers all scopes, including future ones. */
export const SCOPES = [...OPERATION_SCOPES, "*"] as const;

export type OperationScope = (typeof OPERATION_SCOPES)[number];
export type Scope = (typeof SCOPES)[number];

export type KeyType = "admin" | "public";

/** The default scopes of a key; a public key needs none. */
export function usualScopes(type: KeyType): readonly Scope[] {
  return type === "admin" ? ["*"] : [];
}

/** The same set without repeats, in the order of {@link SCOPES}. */
export function normalScopes(scopes: readonly Scope[]): Scope[] {
  return scopes.includes("*") ? ["*"] : SCOPES.filter((scope) => scopes.includes(scope));
}

/** Whether the held scopes include all requested ones. */
export function coversScopes(held: readonly Scope[], asked: readonly Scope[]): boolean {
  return firstLacking(held, asked) === undefined;
}

/**
 * @param held undefined for a caller without limits: the owner of the tenant file, who works directly on the database
 * @param purpose why the scope is needed; follows "needs the scope …" in the message
 * @throws Fault SCOPE_REQUIRED naming the first missing scope
 */
export function requireScopes(held: readonly Scope[] | undefined, asked: readonly Scope[], purpose = ""): void {
  const scope = held && firstLacking(held, asked);
  if (scope === undefined) return;
  const needed = `${scope} ${purpose}`.trimEnd();
  throw new Fault("SCOPE_REQUIRED", `This needs the scope ${needed}: the key in use lacks it`, { detail: { scope } });
}

/** The parts of an apply that belong to operations with scopes of their own. */
interface ApplyWork {
  createsMarkets: boolean;
  /** Gives existing markets a new key, or their first key. */
  namesMarkets: boolean;
  suspendsOrResumes: boolean;
  addsCapital: boolean;
  /** Lets users trade without a verified identity, or with an undecided check. */
  endsKyc: boolean;
  changesKeys: boolean;
  /** Keys that are created or changed. */
  given: readonly { name: string; scopes: readonly Scope[] }[];
}

export const ENDS_KYC = {
  scope: "users",
  purpose: "because it lets users trade without identity verification",
} as const;

/** The scopes that an apply requires in addition to `config`, each with its purpose. */
export function scopesOfApply(work: ApplyWork): { scope: Scope; purpose: string }[] {
  const asked: { scope: Scope; purpose: string }[] = [];
  if (work.createsMarkets) asked.push({ scope: "markets", purpose: "because it creates markets" });
  if (work.namesMarkets) asked.push({ scope: "markets", purpose: "because it gives keys to markets" });
  if (work.suspendsOrResumes) asked.push({ scope: "markets", purpose: "because it suspends or resumes markets" });
  if (work.addsCapital) asked.push({ scope: "funds", purpose: "because it adds capital to the treasury" });
  if (work.endsKyc) asked.push(ENDS_KYC);
  if (work.changesKeys) asked.push({ scope: "keys", purpose: "because it changes keys" });
  for (const { name, scopes } of work.given)
    for (const scope of scopes) asked.push({ scope, purpose: `to give it to ${name}` });
  return asked;
}

function firstLacking(held: readonly Scope[], asked: readonly Scope[]): Scope | undefined {
  return held.includes("*") ? undefined : asked.find((scope) => !held.includes(scope) && !isPartOfRead(scope, held));
}

/** `config:read` covers what plans and drift read: the configuration without users' balances. The scope `read` includes it. */
function isPartOfRead(scope: Scope, held: readonly Scope[]): boolean {
  return scope === "config:read" && held.includes("read");
}

export function isScope(text: unknown): text is Scope {
  return (SCOPES as readonly unknown[]).includes(text);
}

/** The error for a text that is not a scope. */
export function noScope(text: string): string {
  const meant = nearest(text, SCOPES);
  const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
  return `must be one of ${SCOPES.join(", ")}${hint}`;
}

import { anyId, Between, Like } from "./match.ts";
import { microOf } from "./model-numbers.ts";
import {
  type ExpectedEntry,
  type Key,
  type Outcome,
  type Policy,
  type Request,
  refuse,
  type State,
  unchanged,
} from "./model-state.ts";

const COUNTRY = /^[A-Za-z]{2}(-[A-Za-z0-9]{1,3})?$/;

/** Objects merge, arrays are replaced; an unknown key at any depth is refused, and so is a limit of nothing. */
export function judgePolicy(state: State, { body, actor, during }: Request): Outcome[] {
  if (!isPatch(body)) return refuse("BAD_REQUEST");
  const patch = body as Partial<Policy>;
  const upper = (codes: string[] = []) => codes.map((code) => code.toUpperCase());
  const { allowed, blocked } = { ...state.policy.jurisdictions, ...patch.jurisdictions };
  const next: Policy = {
    ...state.policy,
    ...patch,
    jurisdictions: { allowed: upper(allowed), blocked: upper(blocked) },
    suitabilityThresholds: { ...state.policy.suitabilityThresholds, ...patch.suitabilityThresholds },
  };
  next.resolution_url ||= null;
  if (!areTiers(next.suitabilityThresholds.tiers)) return refuse("BAD_REQUEST");
  const fields = Object.keys(next) as (keyof Policy)[];
  const changed = fields.filter((field) => JSON.stringify(next[field]) !== JSON.stringify(state.policy[field]));
  if (changed.length === 0) return unchanged({ ...next, updatedAt: anyId });
  const changes = Object.fromEntries(changed.map((field) => [field, { from: state.policy[field], to: next[field] }]));
  const commit = (): ExpectedEntry[] => {
    state.policy = next;
    return [{ type: "policy.updated", actor, payload: { changes } }];
  };
  return [{ answer: { ...next, updatedAt: new Between(during.from, during.to) }, commit }];
}

const covers = (codes: readonly string[], code: string) =>
  codes.some((each) => code === each || code.startsWith(`${each}-`));

/** Whether a patch allows anything that the policy stops. What it states as it is does not. */
export function loosens(policy: Policy, patch: Partial<Policy>): boolean {
  const raised = (["maxTradeUsd", "maxUserExposureUsd", "maxCreditUsd"] as const).some(
    (field) => (patch[field] ?? 0) > policy[field],
  );
  const ended = (["kycReview", "suitabilityRequired"] as const).some(
    (field) => patch[field] === false && policy[field],
  );
  const upper = (codes: string[]) => codes.map((code) => code.toUpperCase());
  const { allowed, blocked } = policy.jurisdictions;
  const next = { allowed, blocked, ...patch.jurisdictions };
  const admits =
    allowed.length > 0 && (next.allowed.length === 0 || !upper(next.allowed).every((code) => covers(allowed, code)));
  const unblocks = !blocked.every((code) => covers(upper(next.blocked), code));
  const before = policy.suitabilityThresholds;
  const after = { ...before, ...patch.suitabilityThresholds };
  const scores = Array.from({ length: 21 }, (_, score) => score);
  return raised || ended || admits || unblocks || scores.some((score) => capAt(after, score) > capAt(before, score));
}

function capAt({ blockBelow, tiers }: Policy["suitabilityThresholds"], score: number): number {
  if (score < blockBelow) return -1;
  return tiers.findLast(({ minScore }) => minScore <= score)?.capUsd ?? Number.POSITIVE_INFINITY;
}

function isPatch(body: Record<string, unknown>): boolean {
  const limit = (value: unknown) =>
    typeof value === "number" && value > 0 && value <= 2 ** 33 && microOf(value) !== undefined;
  const score = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 20;
  const codes = (value: unknown) =>
    Array.isArray(value) && value.every((code) => typeof code === "string" && COUNTRY.test(code));
  const checks: Record<string, (value: unknown) => boolean> = {
    feeBps: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1000,
    maxTradeUsd: limit,
    maxUserExposureUsd: limit,
    maxCreditUsd: limit,
    kycReview: (value) => typeof value === "boolean",
    suitabilityRequired: (value) => typeof value === "boolean",
    resolution_url: (value) => value === null || value === "",
    jurisdictions: (value) => fits(value, { allowed: codes, blocked: codes }),
    suitabilityThresholds: (value) => fits(value, { blockBelow: score, tiers: Array.isArray }),
  };
  return fits(body, checks);
}

function fits(value: unknown, checks: Record<string, (value: unknown) => boolean>): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(([name, each]) => Object.hasOwn(checks, name) && checks[name]?.(each))
  );
}

/** Tiers begin at score 0 and rise. */
function areTiers(tiers: Policy["suitabilityThresholds"]["tiers"]): boolean {
  return (
    tiers[0]?.minScore === 0 &&
    tiers.every(({ minScore }, index) => index === 0 || minScore > (tiers[index - 1]?.minScore ?? 0))
  );
}

const isLive = ({ expiresAt }: Key, at: number) => expiresAt === null || Date.parse(expiresAt) > at;

/** Keys of a name that work at some moment. */
export const liveKeys = (state: State, name: string, at: number): Key[] =>
  state.keys.filter((key) => key.name === name && isLive(key, at));

/** The newest live key whose value the model knows. */
export const usableKey = (state: State, name: string, at: number): Key | undefined =>
  liveKeys(state, name, at).findLast((key) => key.value !== null);

/** Shown once. Where the first answer may have been lost, its repeat shows none. */
const value = (type: Key["type"], { idempotencyKey }: Request) =>
  new Like(
    `a ${type} key`,
    (actual) =>
      (typeof actual === "string" && actual.startsWith(type === "admin" ? "sk_" : "pk_")) ||
      (actual === null && idempotencyKey !== undefined),
  );

/** A value is shown once; a name has one key in force. */
export function judgeKeyCreation(state: State, request: Request): Outcome[] {
  const { body, actor, during } = request;
  const { name, type } = body as { name: string; type: Key["type"] };
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) || (type !== "admin" && type !== "public"))
    return refuse("BAD_REQUEST");
  if (liveKeys(state, name, during.from).length > 0) return refuse("KEY_EXISTS");
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    const { key, createdAt } = answered as { key: string | null; createdAt: string };
    state.keys.push({ name, type, value: key, createdAt, expiresAt: null });
    return [{ type: "key.created", actor, payload: { name, type } }];
  };
  return [
    {
      answer: {
        name,
        type,
        key: value(type, request),
        expiresAt: null,
        createdAt: new Between(during.from, during.to),
      },
      commit,
    },
  ];
}

/** The old values end with the overlap, a new one takes over. Without an overlap they end at once, which is on record. */
export function judgeRotation(state: State, request: Request): Outcome[] {
  const { params, body, actor, during } = request;
  const { name = "" } = params;
  const live = liveKeys(state, name, during.from);
  const { overlapSeconds = 86_400 } = body as { overlapSeconds?: number };
  const [{ type } = {}] = live;
  if (type === undefined) return refuse("NOT_FOUND");
  const ends = { from: during.from + overlapSeconds * 1000, to: during.to + overlapSeconds * 1000 };
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    const { key, createdAt, oldUntil } = answered as { key: string | null; createdAt: string; oldUntil: string };
    for (const each of live)
      if (each.expiresAt === null || Date.parse(each.expiresAt) > Date.parse(oldUntil)) each.expiresAt = oldUntil;
    state.keys.push({ name, type, value: key, createdAt, expiresAt: null });
    const created = { type: "key.created", actor, payload: { name, type, replaces: true } };
    return overlapSeconds > 0 ? [created] : [created, { type: "key.revoked", actor, payload: { name, type } }];
  };
  return [
    {
      answer: { name, type, key: value(type, request), expiresAt: null, oldUntil: new Between(ends.from, ends.to) },
      commit,
    },
  ];
}

/** Ends every value of the name, except through the very key that the request came with. */
export function judgeRevocation(state: State, { params, key, actor, during }: Request): Outcome[] {
  const { name = "" } = params;
  const live = liveKeys(state, name, during.from);
  const [{ type } = {}] = live;
  if (type === undefined) return refuse("NOT_FOUND");
  if (key === name) return refuse("KEY_IN_USE");
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    for (const each of live) each.expiresAt = String(answered.revokedAt);
    return [{ type: "key.revoked", actor, payload: { name, type } }];
  };
  return [{ answer: { name, type, revokedAt: new Between(during.from, during.to) }, commit }];
}

/** The model's own books are sound, so reconciliation must find them so. */
export function judgeReconciliation(_state: State, { actor, during }: Request): Outcome[] {
  const at = new Between(during.from, during.to);
  const answer = { ok: true, discrepancy: 0, checkedAt: at, verifiedAt: at };
  return [{ answer, commit: () => [{ type: "reconcile.run", actor, payload: {} }] }];
}

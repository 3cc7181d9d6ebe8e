import type { WireInput } from "../contract/operations.ts";
import type { ConfigDocument } from "../contract/resources/config-document.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import { type PolicyPatch, policyPatchOf } from "../domain/policy/policy.ts";
import { counted } from "../domain/text.ts";
import { createdMarket, isNaming, policyFieldOf } from "./plan-compare.ts";
import type { BrokenRule, Desired, Freeze, LiveConfig, Plan, PlanItem, Refusal } from "./plan-types.ts";

/** The field with the capital of the house. */
export const CAPITAL_FIELD = "treasury.capitalUsd";

/** The answers to the questions of a plan, from a person or from options. */
export interface Choices {
  onDrift: "fail" | "adopt" | "overwrite";
  acceptLoosening: boolean;
  /** Names of approved rules (default: none). */
  acceptedRules?: readonly string[] | undefined;
  /** Whether to apply although the tenant is frozen (default: no). */
  breakFreeze?: boolean | undefined;
}

/** The request that carries out a plan, without the fields that only its sender knows. */
export type Writes = Omit<WireInput<"applyConfig">, "gitCommit" | "rollbackTo" | "feeds">;

/** Items that no option accepts: the files must change. */
export function blockers({ items }: Plan): PlanItem[] {
  return items.filter(({ problem }) => problem !== undefined);
}

/** The USD that the treasury lacks for a plan's new markets; undefined where it can fund them. */
export function shortage({ money }: Pick<Plan, "money">): string | undefined {
  if (!money || money.newMarkets.count === 0) return undefined;
  const { nowUsd, addedUsd, afterUsd } = money.treasury;
  // To the micro-dollar, because sums of doubles may be a little below zero.
  if (Math.round(afterUsd * 1e6) >= 0) return undefined;
  const { count, worstCaseLossUsd } = money.newMarkets;
  const usd = (amount: number) => `${Number(amount.toFixed(6))} USD`;
  return `the treasury cannot fund ${counted(count, "new market")}: they need ${usd(worstCaseLossUsd)}, and the treasury will hold ${usd(nowUsd + addedUsd)}`;
}

/** Items whose live value was changed other than by an apply of the file. */
export function contested({ items }: Plan): PlanItem[] {
  return items.filter(({ kind, problem }) => (kind === "drift" || kind === "conflict") && problem === undefined);
}

/** The items that would be written under a choice. */
export function written(plan: Plan, { onDrift }: Pick<Choices, "onDrift">): PlanItem[] {
  const isContested = new Set(contested(plan));
  return plan.items.filter((item) => item.kind !== "adopted" && (onDrift === "overwrite" || !isContested.has(item)));
}

/** The written items that need `--accept-loosening`. */
export function loosening(plan: Plan, choices: Pick<Choices, "onDrift">): PlanItem[] {
  return written(plan, choices).filter(({ direction }) => direction === "loosens");
}

/** Rules that deny a plan, and rules without the approval that they ask for if there is anything to approve. */
export function standingRules(
  { rules = [], empty }: Pick<Plan, "rules" | "empty">,
  { acceptedRules = [] }: Pick<Choices, "acceptedRules"> = {},
): { denied: BrokenRule[]; asked: BrokenRule[] } {
  return {
    denied: rules.filter(({ effect }) => effect === "deny"),
    asked: rules.filter(({ effect, name }) => effect === "approve" && !empty && !acceptedRules.includes(name)),
  };
}

/** Whether a freeze stops a plan. It also stops an empty plan, because an apply also migrates the schema. */
export function isFrozen({ freeze }: Pick<Plan, "freeze">, { breakFreeze }: Pick<Choices, "breakFreeze">): boolean {
  return freeze !== undefined && breakFreeze !== true;
}

/** All reasons for which {@link decide} refuses a plan under a choice; empty for a plan that an apply carries out. */
export function refusalsOf(plan: Plan, choices: Choices): Refusal[] {
  const stopped = choices.onDrift === "fail" ? contested(plan) : [];
  const loosened = choices.acceptLoosening ? [] : loosening(plan, choices);
  const { denied, asked } = standingRules(plan, choices);
  return [
    ...(isFrozen(plan, choices) ? [{ reason: "freeze", field: null, flag: "--break-freeze" } as const] : []),
    ...blockers(plan).map(({ field }): Refusal => ({ reason: "conflict", field, flag: null })),
    ...(shortage(plan) ? [{ reason: "conflict", field: CAPITAL_FIELD, flag: null } as const] : []),
    ...stopped.map(
      ({ field, kind }): Refusal => ({ reason: kind === "conflict" ? kind : "drift", field, flag: "--on-drift" }),
    ),
    ...loosened.map(({ field }): Refusal => ({ reason: "loosening", field, flag: "--accept-loosening" })),
    ...denied.map(({ name }): Refusal => ({ reason: "rule", field: `rules.${name}`, flag: null })),
    ...asked.map(
      ({ name }): Refusal => ({ reason: "approval", field: `rules.${name}`, flag: `--accept-rule ${name}` }),
    ),
  ];
}

/**
 * The writes of a plan, once all its questions are decided.
 * @throws Fault FROZEN, or REFUSED naming the fields and the flag; then nothing may be written
 */
export function decide(plan: Plan, desired: Desired, live: LiveConfig, choices: Choices): Writes {
  if (plan.freeze && isFrozen(plan, choices)) throw frozen(plan.tenant, plan.freeze);
  const blocked = blockers(plan);
  if (blocked.length > 0) throw refused("The files cannot be applied", blocked, ({ problem = "" }) => problem);
  const short = shortage(plan);
  if (short !== undefined)
    throw new Fault("REFUSED", `The files cannot be applied; nothing was written:\n  ${CAPITAL_FIELD}: ${short}`, {
      detail: { fields: [CAPITAL_FIELD] },
    });
  const open = contested(plan);
  if (choices.onDrift === "fail" && open.length > 0)
    throw refused(
      "Live values were changed since the last apply",
      open,
      (item) => describeBlame(item, desired),
      driftHint(open, desired),
    );
  const loosened = loosening(plan, choices);
  if (loosened.length > 0 && !choices.acceptLoosening)
    throw refused("This loosens limits", loosened, ({ live: from, desired: to }) => arrow(from, to), LOOSENING_HINT);

  const { denied, asked } = standingRules(plan, choices);
  if (denied.length > 0) throw refusedByRules("The operator's rules deny this", denied);
  if (asked.length > 0)
    throw refusedByRules("The operator's rules ask for approval", asked, "accept one with --accept-rule NAME");

  return writesOf(plan, desired, live, choices);
}

/** The writes of a plan under a choice, whether or not they are allowed. */
export function writesOf(plan: Plan, desired: Desired, live: LiveConfig, choices: Choices): Writes {
  const items = written(plan, choices);
  const writes = (field: string) => items.some((item) => item.field === field);
  const { document, stored = document } = desired;
  const adopted = { ...stored.adopted, ...adoptedOf(plan, choices) };
  const names = namesOf(items, live);
  return {
    tenant: plan.tenant,
    ifVersion: plan.liveVersion,
    // A plan always states all thresholds.
    policy: policyOf(items) as Writes["policy"],
    kycRequired: writes("kyc.required") ? document.kyc.required : live.kycRequired,
    liquidityUsd: writes("markets.liquidityUsd") ? document.markets.liquidityUsd : live.liquidityUsd,
    capitalUsd: writes(CAPITAL_FIELD) ? document.treasury.capitalUsd : live.capitalUsd,
    ...keysOf(items, desired, live),
    ...(names.length > 0 && { names }),
    markets: marketsOf(items, desired),
    marketStates: statesOf(items, names, live),
    document: { ...stored, keyring: document.keyring, adopted } as Writes["document"],
    documentSha256: desired.fileSha256,
    adopted: Object.keys(adopted),
    ...(choices.breakFreeze && { breakFreeze: true }),
  };
}

/** Such as `acme is frozen until 2030-01-31T18:00:00.000Z by admin:ops: "release"`. */
export function freezeSaid(tenant: string, { frozenUntil, reason, by }: Freeze): string {
  return `${tenant} is frozen until ${frozenUntil} by ${by}: "${reason}"`;
}

function frozen(tenant: string, freeze: Freeze): Fault {
  return new Fault(
    "FROZEN",
    `${freezeSaid(tenant, freeze)}; nothing was written. --break-freeze with --reason TEXT applies all the same`,
  );
}

/** `drift --write` changes neither fields that the file changed too, nor the values of keys. */
function driftHint(open: readonly PlanItem[], { stored }: Desired): string {
  if (stored) return "--on-drift overwrite writes that apply's values, --on-drift adopt keeps the live ones";
  const keys = open.filter(({ field }) => field.startsWith("keys."));
  const conflicts = open.filter(({ kind }) => kind === "conflict");
  const writable = open.filter((item) => !keys.includes(item) && !conflicts.includes(item));
  const ways = [
    ...(writable.length === 0
      ? []
      : [`\`pmctl drift --write\` writes ${writable.length === open.length ? "them" : "the others"} into the file`]),
    ...(keys.length === 0 ? [] : ["put a key's value where its reference in the file points"]),
    ...(conflicts.length === 0 ? [] : ["decide in the file on values that it changed too"]),
  ];
  // Exceptions first, so that "the others" means the rest.
  return `${ways.reverse().join("; ")}; --on-drift overwrite writes the file's values, --on-drift adopt keeps the live ones`;
}

const LOOSENING_HINT = "accept it with --accept-loosening";

function refused(what: string, items: readonly PlanItem[], say: (item: PlanItem) => string, hint?: string): Fault {
  const lines = items.map((item) => `  ${item.field}: ${say(item)}`);
  return new Fault("REFUSED", [`${what}; nothing was written:`, ...lines, ...(hint ? [hint] : [])].join("\n"), {
    detail: { fields: items.map(({ field }) => field) },
  });
}

function refusedByRules(what: string, rules: readonly BrokenRule[], hint?: string): Fault {
  const lines = rules.map(({ name, message }) => `  rules.${name}: ${message}`);
  return new Fault("REFUSED", [`${what}; nothing was written:`, ...lines, ...(hint ? [hint] : [])].join("\n"), {
    detail: { fields: rules.map(({ name }) => `rules.${name}`) },
  });
}

function describeBlame({ base, desired, live, by }: PlanItem, { stored }: Desired): string {
  const who = by ? ` by ${by.actor} at ${by.ts}, audit entry ${by.seq}${by.reason ? ` (${by.reason})` : ""}` : "";
  const where = stored ? "the apply to go back to" : "the file";
  return `${arrow(base, live)}${who}; ${where} says ${JSON.stringify(desired)}`;
}

function arrow(from: Json, to: Json): string {
  return `${JSON.stringify(from)} -> ${JSON.stringify(to)}`;
}

function policyOf(items: readonly PlanItem[]): PolicyPatch {
  return policyPatchOf(
    items.flatMap((item) => {
      const field = policyFieldOf(item);
      return field ? [[field, item.desired] as const] : [];
    }),
  );
}

/**
 * The file's key replaces every other key of its name. A plan may lack a key's value; a server refuses such a key,
 * because it has no hash.
 */
function keysOf(items: readonly PlanItem[], desired: Desired, live: LiveConfig): Pick<Writes, "keys" | "revoke"> {
  const names = new Set(
    items.filter(({ field }) => field.startsWith("keys.")).map(({ field }) => field.slice("keys.".length)),
  );
  const keys = (desired.keys ?? []).filter(({ name }) => names.has(name));
  const revoke = live.keys
    .filter(({ name, fingerprint }) => names.has(name) && !keys.some((key) => key.fingerprint === fingerprint))
    .map(({ name, fingerprint }) => ({ name, fingerprint }));
  const made = keys.map(({ name, type, hash = "", scopes, from, expiresAt }) => {
    const kept = type === "admin" ? { scopes: [...scopes] } : {};
    return { name, type, sha256: hash, ...kept, from: [...from], expiresAt };
  });
  return { keys: made, revoke };
}

/** The markets to create. */
function marketsOf(items: readonly PlanItem[], { document, stored = document }: Desired): Writes["markets"] {
  return items.flatMap((item) => {
    const key = createdMarket(item);
    const terms = key === undefined ? undefined : stored.declared[key];
    if (key === undefined || !terms) return [];
    const { liquidityUsd = stored.markets.liquidityUsd, closeAt } = terms;
    return [{ ...terms, key, liquidityUsd, closeAt: new Date(closeAt).toISOString() }];
  });
}

/** The markets that get a new key, or their first key. */
function namesOf(items: readonly PlanItem[], live: LiveConfig): { marketId: string; key: string; from?: string }[] {
  return items.filter(isNaming).flatMap(({ field, kind, live: from }) => {
    if (kind === "import") return [{ marketId: String(from), key: field.replace(/^markets\./, "") }];
    const market = live.markets.find(({ key }) => key === from);
    return market ? [{ marketId: market.id, key: field.replace(/^markets\./, ""), from: market.key }] : [];
  });
}

function statesOf(
  items: readonly PlanItem[],
  names: ReturnType<typeof namesOf>,
  live: LiveConfig,
): Writes["marketStates"] {
  const named = new Map(names.map(({ marketId, key }) => [`markets.${key}`, marketId]));
  return items.flatMap((item) => {
    const marketId = named.get(item.field) ?? live.markets.find(({ key }) => item.field === `markets.${key}`)?.id;
    if (marketId === undefined || item.live === null || isNaming(item)) return [];
    const to = item.desired === "suspended" ? "suspended" : "open";
    return [{ marketId, from: to === "open" ? "suspended" : "open", to }];
  });
}

/** The live values that stay adopted, and those that this apply adopts. */
function adoptedOf(plan: Plan, { onDrift }: Choices): ConfigDocument["adopted"] {
  // A value that stays adopted is the kept live value, under the key that its market had then.
  const still = plan.items.filter(({ kind }) => kind === "adopted").map((item) => [item.field, item.live]);
  const now = onDrift === "adopt" ? contested(plan).map((item) => [item.field, item.live]) : [];
  return Object.fromEntries([...still, ...now]);
}

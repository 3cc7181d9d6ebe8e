import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { isSame, type Json } from "../domain/audit/audit-link.ts";
import { POLICY_FIELDS } from "../domain/policy/fields.ts";
import { mergePolicy, type Policy, type PolicyPatch, policyPatchOf } from "../domain/policy/policy.ts";
import { policyValue } from "../domain/policy/values.ts";
import { changedSettings, SEARCH } from "./plan-compare.ts";
import { liveText } from "./plan-keys.ts";
import type { LiveConfig } from "./plan-types.ts";

/** What was live after an apply: its document, with the live values that it kept in place of the file's. */
export function meantBy(document: ConfigDocument): ConfigDocument {
  const { adopted } = document;
  const kept = <Value extends Json>(field: string, stated: Value): Value =>
    Object.hasOwn(adopted, field) ? (adopted[field] as Value) : stated;
  const policy = POLICY_FIELDS.flatMap((field) => {
    const stated = policyValue(document.policy, field) as Json | undefined;
    return stated === undefined ? [] : [[field, kept(`policy.${field}`, stated)] as const];
  });
  return {
    ...document,
    policy: policyPatchOf(policy),
    kyc: { ...document.kyc, required: kept("kyc.required", document.kyc.required) },
    markets: { ...document.markets, liquidityUsd: kept("markets.liquidityUsd", document.markets.liquidityUsd) },
    declared: Object.fromEntries(
      Object.entries(document.declared).map(([key, terms]) => [
        key,
        { ...terms, state: kept(`markets.${key}`, terms.state) },
      ]),
    ),
  };
}

/**
 * The policy of an earlier apply with the fields that only later applies stated, as they were live after the earlier one.
 * @param stated sections of the policy that later applies stated or changed
 * @param live the whole policy after the earlier apply
 */
export function takenBack(policy: PolicyPatch, stated: ReadonlySet<string>, live: Policy): PolicyPatch {
  return policyPatchOf(
    POLICY_FIELDS.flatMap((field) => {
      const [section = field] = field.split(".");
      const own = policyValue(policy, field);
      const value = own === undefined && stated.has(section) ? policyValue(live, field) : own;
      return value === undefined ? [] : [[field, value as Json] as const];
    }),
  );
}

/** By key of an earlier document, the key that the market got since, where the document knows no market under that one. */
export function movedBack(
  { declared }: ConfigDocument,
  { markets }: Pick<LiveConfig, "markets">,
): Record<string, string> {
  const moved = markets.flatMap(({ key, formerKeys }) => {
    const earlier = Object.hasOwn(declared, key) ? undefined : formerKeys.find((each) => Object.hasOwn(declared, each));
    return earlier === undefined ? [] : [[earlier, key] as const];
  });
  return Object.fromEntries(moved);
}

/** A tenant around a rollback. */
interface RolledBack {
  before: Pick<LiveConfig, "document">;
  /** After the rollback. */
  live: LiveConfig;
  /** What the tenant file says now; servers take their settings from it. */
  file: ConfigDocument;
}

/**
 * The fields that a rollback did not restore: no document holds the values of keys, and capital and markets cannot be
 * taken back.
 * @param applied the earlier document, with what was to be taken back of later ones
 */
export function leftBy(applied: ConfigDocument, { before, live, file }: RolledBack): string[] {
  const base = before.document ?? {};
  const meant = meantBy(applied);
  const { kyc, markets, treasury } = meant;
  return [
    ...policyLeft(meant, base, live),
    ...(kyc.required === live.kycRequired ? [] : ["kyc.required"]),
    ...(markets.liquidityUsd === live.liquidityUsd ? [] : ["markets.liquidityUsd"]),
    ...(treasury.capitalUsd < live.capitalUsd ? ["treasury.capitalUsd"] : []),
    ...keysLeft(meant, base, live),
    ...marketsLeft(meant, base, live),
    ...changedSettings(meant, file).filter((path) => path !== SEARCH),
  ];
}

function policyLeft(meant: ConfigDocument, base: Partial<ConfigDocument>, live: LiveConfig): string[] {
  const wanted = mergePolicy(live.policy, meant.policy);
  const isOverridden = (name: string) => live.overrides.some(({ field, until }) => field === name && until > live.now);
  return POLICY_FIELDS.filter((field) => {
    if (isOverridden(field)) return true;
    if (policyValue(meant.policy, field) === undefined) return policyValue(base.policy ?? {}, field) !== undefined;
    return !isSame(policyValue(wanted, field) as Json, policyValue(live.policy, field) as Json);
  }).map((field) => `policy.${field}`);
}

function keysLeft({ keyring }: ConfigDocument, base: Partial<ConfigDocument>, live: LiveConfig): string[] {
  const names = new Set([...Object.keys(keyring), ...Object.keys(base.keyring ?? {})]);
  const differs = (name: string) => liveText(live, name, [keyring[name]]) !== (keyring[name] ?? null);
  return [...names].filter(differs).map((name) => `keys.${name}`);
}

/** Only open and suspended markets: a document states nothing else of a market. */
function marketsLeft({ declared }: ConfigDocument, base: Partial<ConfigDocument>, live: LiveConfig): string[] {
  return live.markets
    .filter(({ status }) => status === "open" || status === "suspended")
    .filter(({ key, status }) =>
      Object.hasOwn(declared, key) ? declared[key]?.state !== status : Object.hasOwn(base.declared ?? {}, key),
    )
    .map(({ key }) => `markets.${key}`);
}

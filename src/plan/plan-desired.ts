import type { KeyAtHand } from "../config/resolve-tenant.ts";
import { describeReference } from "../config/secrets/secrets.ts";
import type { Tenant } from "../config/tenant-file.ts";
import type { WireResult } from "../contract/operations.ts";
import { type ConfigDocument, ConfigDocumentInput } from "../contract/resources/config-document.ts";
import { hashApiKey, keyFingerprint } from "../domain/access/api-key.ts";
import { isSame, type Json } from "../domain/audit/audit-link.ts";
import { fieldsOfDocument } from "../domain/audit/document-changes.ts";
import { Fault } from "../domain/fault.ts";
import { isMapping } from "../domain/json/mapping.ts";
import { POLICY_FIELDS } from "../domain/policy/fields.ts";
import { mergePolicy, type Policy, type PolicyPatch, policyPatchOf } from "../domain/policy/policy.ts";
import { policyValue } from "../domain/policy/values.ts";
import { changedSettings, SEARCH } from "./plan-compare.ts";
import { documentOf, importsOf, movedOf } from "./plan-document.ts";
import { assumedFingerprint, liveText } from "./plan-keys.ts";
import { canChangeState } from "./plan-markets.ts";
import type { Desired, DesiredKey, LiveConfig } from "./plan-types.ts";

/**
 * The state that the tenant's files describe.
 * @param targets the only fields to plan
 */
export function desiredByFiles(
  { config, markets }: Tenant,
  keysAtHand: readonly KeyAtHand[],
  live: LiveConfig,
  targets: readonly string[] | undefined,
): Desired {
  const keys = keysAtHand.map(({ value, expires, ...key }): DesiredKey => {
    const hash = value === undefined ? undefined : hashApiKey(value);
    const fingerprint = hash === undefined ? assumedFingerprint(key.name, live) : keyFingerprint(hash);
    const stated = config.keys[key.type].find(({ name }) => name === key.name);
    const reference = stated && describeReference(stated.secret).replace(/^env /, "");
    const expiresAt = expires === undefined ? null : new Date(expires).toISOString();
    return { ...key, hash, fingerprint, reference, expiresAt };
  });
  const document = documentOf(config, markets, keys);
  const { sha256: fileSha256 } = config.source;
  const asked = { fileSha256, document, targets: targets === undefined ? null : [...targets] };
  const whole = { document, keys, fileSha256, moved: movedOf(markets), imports: importsOf(markets), asked };
  return targets ? onlyTargets(whole, live, targets) : whole;
}

/**
 * The document of an earlier apply. It contains no values of keys, so keys stay as they are.
 * @throws Fault REFUSED when this version cannot read the document
 */
export function desiredByApply(
  { seq, document, fileSha256, gitCommit, livePolicy, changedSince }: WireResult<"getApply">,
  live: LiveConfig,
): Desired {
  if (!ConfigDocumentInput.safeParse(document).success)
    throw new Fault("REFUSED", `The document of entry ${seq} is not one that this version can apply`);
  const stored = document as ConfigDocument;
  const meant = meantBy(stored);
  const stated = new Set([...Object.keys(live.document?.policy ?? {}), ...changedSince]);
  const keyring = live.document ? (live.document.keyring ?? {}) : meant.keyring;
  return {
    document: { ...meant, policy: takenBack(meant.policy, stated, livePolicy), keyring, adopted: {} },
    stored,
    keys: undefined,
    moved: movedBack(stored, live),
    fileSha256: String(fileSha256),
    gitCommit,
    asked: { rollbackTo: seq },
  };
}

/** Places in a document whose fields have another name in plans. */
const PLACES = [
  ["keyring", "keys."],
  ["declared", "markets."],
] as const;

/** Whether a field is a target, or is below one. */
export function isTargeted(field: string, targets: readonly string[]): boolean {
  return targets.some((target) => field === target || field.startsWith(`${target}.`));
}

/**
 * The desired state when only some fields are targets: all others stay as they were last applied. The stored document
 * keeps them too, so that a later plan still shows them.
 * @param named such as `policy`, `policy.feeBps` or `markets.rain`
 * @throws Fault USAGE for a tenant that was never applied, NOT_FOUND for a target that neither document has
 */
export function onlyTargets(desired: Desired, { document: applied }: LiveConfig, named: readonly string[]): Desired {
  if (applied === null) throw new Fault("USAGE", "--target needs an earlier apply: apply the whole files first");
  const base = applied as ConfigDocument;
  // A market that gets a new key leaves its place under the old one.
  const left = Object.entries(desired.moved ?? {}).filter(([key]) => isTargeted(`markets.${key}`, named));
  const targets = [
    ...named,
    ...left.flatMap(([, key]) => (Object.hasOwn(base.declared, key) ? [`markets.${key}`] : [])),
  ];
  const known = [...fieldsOfDocument(base), ...fieldsOfDocument(desired.document)];
  const unknown = targets.filter((target) => !known.some((field) => isTargeted(field, [target])));
  if (unknown.length > 0) throw new Fault("NOT_FOUND", `The files have no field ${unknown.join(", ")}`);
  const document = merged(base, desired.document, "", targets) as ConfigDocument;
  const adopted = Object.fromEntries(Object.entries(base.adopted).filter(([field]) => !isTargeted(field, targets)));
  return { ...desired, document: { ...document, adopted }, targets };
}

/** The applied value of a section, with the desired values of its targets. */
function merged(
  applied: Json | undefined,
  wanted: Json | undefined,
  field: string,
  targets: readonly string[],
): Json | undefined {
  if (field !== "" && isTargeted(field, targets)) return wanted;
  if (!isMapping(applied) && !isMapping(wanted)) return applied;
  const [before, after] = [isMapping(applied) ? applied : {}, isMapping(wanted) ? wanted : {}];
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const value = merged(before[name], after[name], childField(field, name), targets);
    return value === undefined ? [] : [[name, value] as const];
  });
  // A section without a target that was never applied stays absent.
  return parts.length === 0 && applied === undefined ? undefined : Object.fromEntries(parts);
}

function childField(field: string, name: string): string {
  const place = PLACES.find(([section]) => section === field);
  if (place) return `${place[1]}${name}`;
  return field === "" ? name : `${field}.${name}`;
}

/** The live state after an apply: its document, with the live values that it kept in place of the file's. */
function meantBy(document: ConfigDocument): ConfigDocument {
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
 * The policy of an earlier apply. Fields that only later applies stated get their live values from after it.
 * @param stated sections of the policy that later applies stated or changed
 * @param live the whole policy after the earlier apply
 */
function takenBack(policy: PolicyPatch, stated: ReadonlySet<string>, live: Policy): PolicyPatch {
  return policyPatchOf(
    POLICY_FIELDS.flatMap((field) => {
      const [section = field] = field.split(".");
      const own = policyValue(policy, field);
      const value = own === undefined && stated.has(section) ? policyValue(live, field) : own;
      return value === undefined ? [] : [[field, value as Json] as const];
    }),
  );
}

/** The present key of a market by its key in an earlier document, unless that document uses the present one too. */
function movedBack({ declared }: ConfigDocument, { markets }: Pick<LiveConfig, "markets">): Record<string, string> {
  const moved = markets.flatMap(({ key, formerKeys }) => {
    const earlier = Object.hasOwn(declared, key) ? undefined : formerKeys.find((each) => Object.hasOwn(declared, each));
    return earlier === undefined ? [] : [[earlier, key] as const];
  });
  return Object.fromEntries(moved);
}

/** A tenant before and after a rollback. */
interface RolledBack {
  before: Pick<LiveConfig, "document">;
  /** The live state after the rollback. */
  live: LiveConfig;
  /** The present tenant file, from which servers take their settings. */
  file: ConfigDocument;
}

/**
 * The fields that a rollback did not restore: no document has the values of keys, and capital and markets cannot be
 * taken back.
 * @param applied the earlier document, with the values that the rollback took back
 */
export function leftBy(applied: ConfigDocument, { before, live, file }: RolledBack): string[] {
  const base = before.document ?? {};
  const meant = meantBy(applied);
  const { kyc, markets } = meant;
  return [
    ...policyLeft(meant, base, live),
    ...(kyc.required === live.kycRequired ? [] : ["kyc.required"]),
    ...(markets.liquidityUsd === live.liquidityUsd ? [] : ["markets.liquidityUsd"]),
    ...keptBy(applied, before, live),
    ...marketsLeft(meant, base, live),
    ...changedSettings(meant, file).filter((path) => path !== SEARCH),
  ];
}

/** The fields that no rollback restores and that differ from the earlier document: capital and keys. */
export function keptBy(
  { treasury, keyring }: ConfigDocument,
  { document }: Pick<LiveConfig, "document">,
  live: LiveConfig,
): string[] {
  return [
    ...(treasury.capitalUsd < live.capitalUsd ? ["treasury.capitalUsd"] : []),
    ...keysLeft(keyring, document ?? {}, live),
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

function keysLeft(keyring: ConfigDocument["keyring"], base: Partial<ConfigDocument>, live: LiveConfig): string[] {
  const names = new Set([...Object.keys(keyring), ...Object.keys(base.keyring ?? {})]);
  const differs = (name: string) => liveText(live, name, [keyring[name]]) !== (keyring[name] ?? null);
  return [...names].filter(differs).map((name) => `keys.${name}`);
}

function marketsLeft({ declared }: ConfigDocument, base: Partial<ConfigDocument>, live: LiveConfig): string[] {
  return live.markets
    .filter(canChangeState)
    .filter(({ key, status }) =>
      Object.hasOwn(declared, key) ? declared[key]?.state !== status : Object.hasOwn(base.declared ?? {}, key),
    )
    .map(({ key }) => `markets.${key}`);
}

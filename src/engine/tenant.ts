import { isDeepStrictEqual } from "node:util";
import { requireScopes, scopesOfApply, usualScopes } from "../domain/access/scopes.ts";
import { CAPITAL, TREASURY } from "../domain/accounts.ts";
import { Fault } from "../domain/fault.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { MAX_FREEZE_DAYS, MAX_FREEZE_MS } from "../domain/policy/freeze.ts";
import { DEFAULT_POLICY, mergePolicy, type PolicyPatch } from "../domain/policy/policy.ts";
import { MINUTE_MS } from "../domain/time/units.ts";
import {
  createdKey,
  type DeclaredKey,
  isInForce,
  isLive,
  type KeyInHand,
  refuseLeaked,
  statedKeys,
} from "./access/keys.ts";
import { type AppliedBy, changedRules, requirePlanApproved } from "./approvals/plans.ts";
import { marketSubject, waitingNeed } from "./approvals/proposals.ts";
import {
  type CommandKind,
  FREEZE,
  KEYRING,
  marketNeeds,
  need,
  requireMarket,
  requireTenant,
  TENANT,
  TENANT_TO_WRITE,
} from "./command.ts";
import type { Draft, Reader } from "./draft.ts";
import {
  type CreateMarket,
  createMarket,
  type NamedMarket,
  nameMarket,
  namingNeeds,
  resumeMarket,
  suspendMarket,
} from "./markets.ts";
import { statedTenant, tenantOnRecord, tenantStrays } from "./on-record.ts";
import { policyChanges } from "./policy.ts";
import { type ApiKey, SINGLE, type Tenant } from "./rows.ts";

/** A market declared in a file, to be created in the state that the file states. */
interface DeclaredMarket extends CreateMarket {
  fileKey: string;
  liquidityMicro: bigint;
  state: "open" | "suspended";
}

/** The changes of a plan. */
export interface ApplyConfig extends KeyInHand, AppliedBy {
  /** The version of the tenant's row that the plan is based on, 0 before the first apply; any other version is refused. */
  ifVersion?: number | undefined;
  /** The fields to write; other fields keep their live values. */
  policy: PolicyPatch;
  kycRequired: boolean;
  liquidityMicro: bigint;
  /** The total capital in the treasury. Missing capital is added; nothing is ever taken out. */
  capitalMicro: bigint;
  /** Keys to create or change; other keys do not change. */
  keys: DeclaredKey[];
  /** Keys to end, by name and by hash or the beginning of the hash. */
  revoke?: readonly Pick<ApiKey, "name" | "hash">[] | undefined;
  markets?: readonly DeclaredMarket[] | undefined;
  /** The file key of a market to create that is already taken, so that the plan is stale. */
  takenKey?: string | undefined;
  /** Markets that get a new key, or their first key. */
  names?: readonly NamedMarket[] | undefined;
  /** Refused if a market's state is no longer `from`. */
  marketStates?: readonly { marketId: string; from: "open" | "suspended"; to: "open" | "suspended" }[] | undefined;
  /** The document without secrets, canonical JSON. */
  document: string;
  documentSha256: string;
  gitCommit: string | undefined;
  /** The entry that this document comes from, if it is not the file's. */
  rollbackTo?: number | undefined;
  /** Fields whose live value was kept although the file has another value. */
  adopted?: string[] | undefined;
  /** Carries out the plan although the tenant is frozen. */
  breakFreeze?: boolean | undefined;
}

/**
 * Makes the changes of a plan in one commit: policy, settings, missing capital, keys, markets. Everything outside the
 * plan stays. A second apply of the same document changes and records nothing, unless the row differs from the log.
 * @throws Fault FROZEN, SCOPE_REQUIRED for a change outside the scopes of the request's key, REFUSED if the plan's
 * basis has changed
 */
export const applyConfig: CommandKind<ApplyConfig, { changed: boolean }> = {
  needs: ({ markets = [], names = [], marketStates = [], inputSha256 }) => [
    ...(inputSha256 === undefined ? [] : [need("planApprovals", inputSha256)]),
    ...TENANT_TO_WRITE,
    FREEZE,
    KEYRING,
    need("account", CAPITAL),
    need("account", TREASURY),
    ...markets.map(({ fileKey }) => need("marketKey", fileKey)),
    ...names.flatMap(namingNeeds),
    ...marketStates.flatMap(({ marketId }) => [...marketNeeds(marketId), waitingNeed(marketSubject(marketId))]),
  ],
  ownBatch: true,
  decide(draft, command, now) {
    const { kycRequired, liquidityMicro, document } = command;
    const frozenUntil = freezeInForce(draft, now);
    if (frozenUntil !== undefined && !command.breakFreeze) throw frozenFault(frozenUntil);
    const before = tenantOnRecord(draft);
    const capitalBefore = before?.capitalMicro ?? 0n;
    const addedMicro = command.capitalMicro > capitalBefore ? command.capitalMicro - capitalBefore : 0n;
    requireScopesOfWork(draft, command, addedMicro, before);
    const givesKeys = givenKeys(draft, command).length > 0;
    const strays = tenantStrays(draft);
    if (command.ifVersion !== undefined && command.ifVersion !== (before?.version ?? 0))
      throw stale("the configuration");
    if (command.takenKey !== undefined) throw stale(`the market key ${command.takenKey}`);
    const policy = mergePolicy(before?.policy ?? DEFAULT_POLICY, command.policy);
    const changes = policyChanges(before?.policy ?? DEFAULT_POLICY, policy);
    const policyChanged = !before || Object.keys(changes).length > 0;
    draft.transfer(CAPITAL, TREASURY, addedMicro);
    const touched = [applyKeys(draft, command, now), applyMarkets(draft, command, now)];
    const settingsChanged =
      before?.kycRequired !== kycRequired || before.liquidityMicro !== liquidityMicro || before.document !== document;
    if (!strays && !policyChanged && !settingsChanged && addedMicro === 0n && !touched.includes(true))
      return { changed: false };
    requirePlanApproved(draft, command, { before, givesKeys });
    const tenant: Tenant = {
      policy,
      overrides: before?.overrides ?? [],
      policyUpdatedAt: policyChanged ? now : before.policyUpdatedAt,
      kycRequired,
      liquidityMicro,
      capitalMicro: capitalBefore + addedMicro,
      document,
      version: before?.version ?? 0,
    };
    draft.put("tenant", SINGLE, tenant);
    draft.record("config.applied", {
      sha256: command.documentSha256,
      gitCommit: command.gitCommit,
      ...{ policy: before ? changes : policy, rules: changedRules(before, tenant) },
      capitalAdded: decimalFromMicro(addedMicro),
      document: JSON.parse(document),
      rollbackTo: command.rollbackTo,
      adopted: command.adopted,
      frozenUntil: frozenUntil === undefined ? undefined : new Date(frozenUntil).toISOString(),
      state: statedTenant(tenant),
    });
    return { changed: true };
  },
};

/**
 * An apply does the work of other operations in one commit and requires their scopes, so that a plan cannot do what its
 * key may not do with the single operations.
 */
function requireScopesOfWork(draft: Draft, command: ApplyConfig, addedMicro: bigint, before: Tenant | undefined): void {
  const { revoke = [], markets = [], names = [], marketStates = [], heldScopes } = command;
  const given = givenKeys(draft, command);
  const asked = scopesOfApply({
    createsMarkets: markets.length > 0,
    namesMarkets: names.length > 0,
    suspendsOrResumes: marketStates.length > 0,
    addsCapital: addedMicro > 0n,
    endsKyc:
      ((before?.kycRequired ?? true) && !command.kycRequired) ||
      ((before?.policy ?? DEFAULT_POLICY).kycReview && command.policy.kycReview === false),
    changesKeys: given.length + revoke.length > 0,
    given,
  });
  for (const { scope, purpose } of asked) requireScopes(heldScopes, [scope], purpose);
}

/** The declared keys that would be created or changed. */
function givenKeys(draft: Draft, { keys }: ApplyConfig): ReturnType<typeof asDeclared>[] {
  const keyring = draft.get("keyring", SINGLE) ?? [];
  return keys.map(asDeclared).filter((wanted) => {
    const key = keyring.find(({ hash }) => hash === wanted.hash);
    return !key || !isAsWanted(key, wanted);
  });
}

function asDeclared(key: DeclaredKey): DeclaredKey & Pick<ApiKey, "scopes" | "from"> {
  return { ...key, scopes: key.scopes ?? usualScopes(key.type), from: key.from ?? [] };
}

/**
 * Creates or changes the declared keys and ends the revoked keys at once; other keys do not change.
 * @throws Fault REFUSED for a name taken meanwhile or a leaked value, KEY_IN_USE if the request's own key would be locked out
 */
function applyKeys(draft: Draft, { keys: declared, revoke = [], usedName }: ApplyConfig, now: number): boolean {
  const keys = declared.map(asDeclared);
  const isRevoked = ({ name, hash }: ApiKey) => revoke.some((key) => key.name === name && hash.startsWith(key.hash));
  const keyring = draft.get("keyring", SINGLE) ?? [];
  for (const key of keys) refuseLeaked(keyring, key);
  const next: ApiKey[] = keyring.map((key) => {
    const wanted = keys.find(({ hash }) => hash === key.hash);
    // A renamed value keeps its row: there is one row for each value.
    if (wanted) return isAsWanted(key, wanted) ? key : { ...key, ...wanted, onRecord: true };
    return isRevoked(key) && isInForce(key, now) ? { ...key, expiresAt: now } : key;
  });
  for (const key of keys) {
    if (keyring.some(({ hash }) => hash === key.hash)) continue;
    if (next.some((each) => each.name === key.name && isInForce(each, now))) throw stale(`the key ${key.name}`);
    next.push({ ...key, createdAt: now, leaked: false, onRecord: true, version: 0 });
  }
  const changed = next.filter((key) => !keyring.includes(key));
  if (usedName !== undefined) requireKeyInHand(usedName, keyring, next, now);
  for (const key of changed) {
    draft.put("apiKey", key.hash, key);
    if (isLive(key, now)) draft.record("key.created", { ...createdKey(key), keys: statedKeys([key]) });
    else draft.record("key.revoked", { name: key.name, type: key.type, keys: statedKeys([key]) });
  }
  if (changed.length > 0) draft.put("keyring", SINGLE, next);
  return changed.length > 0;
}

/** An apply cannot end its own key, but may rename the key's value. */
function requireKeyInHand(name: string, before: readonly ApiKey[], after: readonly ApiKey[], now: number): void {
  const held = before.filter((key) => key.name === name && isInForce(key, now)).map(({ hash }) => hash);
  const works = (key: ApiKey) =>
    key.type === "admin" && isInForce(key, now) && (key.name === name || held.includes(key.hash));
  if (held.length === 0 || after.some(works)) return;
  throw new Fault("KEY_IN_USE", `This request itself uses the key ${name}, which it would end; use another key`);
}

function isAsWanted(key: ApiKey, wanted: ReturnType<typeof asDeclared>): boolean {
  const isSame = key.name === wanted.name && key.type === wanted.type && key.expiresAt === wanted.expiresAt;
  return key.onRecord && isSame && isDeepStrictEqual([key.scopes, key.from], [wanted.scopes, wanted.from]);
}

/** An apply only creates, names, suspends and resumes markets: a file never settles or deletes a market. */
function applyMarkets(
  draft: Draft,
  { markets = [], names = [], marketStates = [] }: ApplyConfig,
  now: number,
): boolean {
  for (const { state, ...market } of markets) {
    if (draft.get("marketKey", market.fileKey)) throw stale(`the market key ${market.fileKey}`);
    createMarket.decide(draft, market, now);
    if (state === "suspended") suspendMarket.decide(draft, { marketId: market.id }, now);
  }
  for (const named of names) {
    const holder = draft.get("marketKey", named.key);
    if (holder && holder.id !== named.marketId) throw stale(`the market key ${named.key}`);
    nameMarket(draft, named);
  }
  for (const { marketId, from, to } of marketStates) {
    const { marketState } = requireMarket(draft, marketId);
    if (marketState.status !== from) throw stale(`the market ${marketId}`);
    const change = to === "suspended" ? suspendMarket : resumeMarket;
    change.decide(draft, { marketId }, now);
  }
  return markets.length + names.length + marketStates.length > 0;
}

function stale(what: string): Fault {
  return new Fault("REFUSED", `The plan is stale: ${what} was changed since it was made; plan again`);
}

/** How far an operator's clock, which computes the end of a freeze of `30d`, may be ahead of the database's clock. */
const CLOCKS_APART_MS = 5 * MINUTE_MS;

/** Blocks applies and rollbacks until an instant. It replaces an earlier freeze by a longer or shorter one. */
export const freezeConfig: CommandKind<{ until: number }, { until: number }> = {
  needs: () => [TENANT, FREEZE],
  ownBatch: true,
  decide(draft, { until }, now) {
    requireTenant(draft);
    if (until <= now) throw new Fault("BAD_REQUEST", "until: must be in the future");
    if (until > now + MAX_FREEZE_MS + CLOCKS_APART_MS)
      throw new Fault("BAD_REQUEST", `until: must be at most ${MAX_FREEZE_DAYS} days ahead`);
    draft.put("freeze", SINGLE, { until });
    draft.record("config.frozen", { until: new Date(until).toISOString() });
    return { until };
  },
};

/** Lifts a freeze. Without a freeze nothing is recorded. */
export const unfreezeConfig: CommandKind<object, { changed: boolean }> = {
  needs: () => [FREEZE],
  ownBatch: true,
  decide(draft, _, now) {
    const until = freezeInForce(draft, now);
    if (until === undefined) return { changed: false };
    draft.put("freeze", SINGLE, { until: null });
    draft.record("config.unfrozen", { until: new Date(until).toISOString() });
    return { changed: true };
  },
};

/** The end of the freeze in force, in milliseconds since the epoch; undefined for none. */
function freezeInForce(state: Reader, now: number): number | undefined {
  const until = state.get("freeze", SINGLE)?.until ?? null;
  return until !== null && until > now ? until : undefined;
}

function frozenFault(until: number): Fault {
  return new Fault("FROZEN", `The configuration is frozen until ${new Date(until).toISOString()}; nothing was written`);
}

import { createHash } from "node:crypto";
import { usualScopes } from "../domain/access/scopes.ts";
import type { StatedTenant } from "../domain/audit/audit-payloads.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { type CommandKind, KEYRING, PAST_RECORD, TENANT } from "./command.ts";
import type { Draft, Reader } from "./draft.ts";
import { createdKey, isLive, statedKeys } from "./keys.ts";
import { type ApiKey, type PastRecord, SINGLE, type Tenant } from "./rows.ts";

/** States in the log, once, what older versions of this program left beside it. */
export interface PutOnRecord {
  type: "putOnRecord";
}

/** What it stated. */
export interface StatedRecord {
  /** How many keys. */
  keys: number;
  /** The keys that the log knows nothing of. */
  refused: { name: string; hash: string }[];
}

export const putOnRecord: CommandKind<PutOnRecord, StatedRecord | undefined> = {
  needs: () => [TENANT, KEYRING, PAST_RECORD],
  ownBatch: true,
  decide: (draft, _, now) => statePast(draft, now),
};

/**
 * The tenant's row as an entry states it, so that the last entry to change the row says all of it. The document stands
 * whole in the entry of its apply; here its SHA-256 says which one holds.
 */
export function statedTenant(tenant: Tenant): StatedTenant {
  return {
    policy: tenant.policy,
    overrides: tenant.overrides.map((each) => ({ ...each, until: new Date(each.until).toISOString() })),
    policyUpdatedAt: new Date(tenant.policyUpdatedAt).toISOString(),
    kycRequired: tenant.kycRequired,
    liquidity: decimalFromMicro(tenant.liquidityMicro),
    capital: decimalFromMicro(tenant.capitalMicro),
    document: createHash("sha256").update(tenant.document).digest("hex"),
  };
}

/**
 * The tenant's row for a command that writes it: as the log states it, so that what another hand put into one field does
 * not come onto the record with a change of another.
 */
export function tenantOnRecord(state: Reader): Tenant | undefined {
  const held = state.get("tenant", SINGLE);
  const stated = state.get("tenantRecord", SINGLE)?.stated;
  if (!stated) return held;
  const document = stated.document ?? held?.document;
  return document === undefined ? undefined : { ...stated, document, version: held?.version ?? 0 };
}

/** Whether the row is not as the log says: then even a change to what the log says already has to write it. */
export function tenantStrays(state: Reader): boolean {
  return state.get("tenantRecord", SINGLE)?.strays === true;
}

/**
 * States, once, the keys and the configuration that older versions left with entries that do not say enough. A key that
 * their log knows nothing of is not stated: it was put into the table by another hand, and stays shut.
 * @returns undefined when there was nothing to state
 */
export function statePast(draft: Draft, now: number): StatedRecord | undefined {
  const past = draft.get("pastRecord", SINGLE);
  const tenant = draft.get("tenant", SINGLE);
  if (!past || past.complete || !tenant) return undefined;
  const keyring = draft.get("keyring", SINGLE) ?? [];
  const { known, refused } = knownKeys(
    keyring.filter(({ onRecord }) => !onRecord),
    past,
    now,
  );
  const stated = known.map((key): ApiKey => ({ ...key, onRecord: true }));
  for (const key of stated) {
    draft.put("apiKey", key.hash, key);
    const keys = statedKeys([key]);
    if (isLive(key, now)) draft.record("key.created", { ...createdKey(key), keys, migrated: true });
    else draft.record("key.revoked", { name: key.name, type: key.type, keys, migrated: true });
  }
  const byHash = new Map(stated.map((key) => [key.hash, key]));
  draft.put(
    "keyring",
    SINGLE,
    keyring.map((key) => byHash.get(key.hash) ?? key),
  );
  draft.put("pastRecord", SINGLE, { complete: true, made: [], ended: [], applied: { at: 0, keys: [] } });
  draft.record("state.recorded", {
    keys: stated.length,
    refused: refused.map(({ name, hash }) => ({ name, sha256: hash })),
    state: statedTenant(tenant),
  });
  return { keys: stated.length, refused: refused.map(({ name, hash }) => ({ name, hash })) };
}

/**
 * The keys that the log of an older version accounts for, with the ends that it gives them. Its entries name no value: a
 * key is known by its fingerprint in the document applied last, or by an entry that made a key of its name and type when
 * it was made. Where more keys claim an entry or a fingerprint than it speaks of, nothing tells the true one, and none
 * is known. What has ended opens nothing, and is stated as it is.
 */
export function knownKeys(
  keys: readonly ApiKey[],
  past: PastRecord,
  now: number,
): { known: ApiKey[]; refused: ApiKey[] } {
  const alike = (a: ApiKey, b: ApiKey) => a.name === b.name && a.type === b.type;
  const printOf = ({ hash }: ApiKey) => `fp:${hash.slice(0, 8)}`;
  const isApplied = (key: ApiKey) =>
    past.applied.keys.some(
      ({ name, type, fingerprint }) => name === key.name && type === key.type && fingerprint === printOf(key),
    ) && keys.filter((each) => alike(each, key) && printOf(each) === printOf(key)).length === 1;
  const made = (key: ApiKey) => past.made.filter(({ name, type }) => name === key.name && type === key.type);
  // An entry never bears an earlier time than its key, and a later one only where clocks disagree.
  const claimOf = (key: ApiKey) => {
    const at = Math.min(...made(key).flatMap((entry) => (entry.at >= key.createdAt ? [entry.at] : [])));
    return at - key.createdAt <= CLOCKS_APART_MS ? at : undefined;
  };
  const isClaimant = (key: ApiKey) => {
    const claim = claimOf(key);
    if (claim === undefined) return false;
    const rivals = keys.filter((each) => alike(each, key) && claimOf(each) === claim);
    return rivals.length <= made(key).filter(({ at }) => at === claim).length;
  };
  const asLogged = (key: ApiKey): ApiKey => {
    const ends = past.ended.filter(
      ({ name, at }) => name === key.name && key.createdAt < at && !(isApplied(key) && past.applied.at >= at),
    );
    const until = Math.min(key.expiresAt ?? Number.POSITIVE_INFINITY, ...ends.map((each) => each.until));
    const expiresAt = until === Number.POSITIVE_INFINITY ? null : until;
    // Older versions knew neither, so the row's word for them is another hand's.
    return { ...key, scopes: usualScopes(key.type), from: [], expiresAt };
  };
  const isKnown = (key: ApiKey) => !isLive(key, now) || isApplied(key) || isClaimant(key);
  return { known: keys.filter(isKnown).map(asLogged), refused: keys.filter((key) => !isKnown(key)) };
}

const CLOCKS_APART_MS = 60_000;

import { createHash } from "node:crypto";
import { keyFingerprint } from "../domain/access/api-key.ts";
import { usualScopes } from "../domain/access/scopes.ts";
import type { StatedTenant } from "../domain/audit/audit-payloads.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { type CommandKind, KEYRING, PAST_RECORD, TENANT } from "./command.ts";
import type { Draft, Reader } from "./draft.ts";
import { createdKey, isLive, statedKeys } from "./keys.ts";
import { type ApiKey, type PastRecord, SINGLE, type Tenant } from "./rows.ts";

interface StatedRecord {
  /** How many keys were stated. */
  keys: number;
  /** The keys that the log does not account for. */
  refused: { name: string; hash: string }[];
}

/** See {@link statePast}. */
export const putOnRecord: CommandKind<object, StatedRecord | undefined> = {
  needs: () => [TENANT, KEYRING, PAST_RECORD],
  ownBatch: true,
  decide: (draft, _, now) => statePast(draft, now),
};

/**
 * The whole tenant's row as an entry states it. The document itself stands in the entry of its apply; here its SHA-256
 * says which one holds.
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
 * The tenant's row for a command that writes it: as the log states it, so that an edit of one field past the log is not
 * recorded along with a change of another.
 */
export function tenantOnRecord(state: Reader): Tenant | undefined {
  const held = state.get("tenant", SINGLE);
  const stated = state.get("tenantRecord", SINGLE)?.stated;
  if (!stated) return held;
  const document = stated.document ?? held?.document;
  return document === undefined ? undefined : { ...stated, document, version: held?.version ?? 0 };
}

/** Whether the row differs from the log. A command then writes it even when it changes nothing in the log. */
export function tenantStrays(state: Reader): boolean {
  return state.get("tenantRecord", SINGLE)?.strays === true;
}

/**
 * Records, once, the keys and the configuration in full: entries of older versions state them only in part. A key that
 * the log does not account for is not stated and stays refused: it was put into the table past the log.
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
  return { keys: stated.length, refused };
}

/**
 * The keys that a log of older versions accounts for, with the expiries that it gives them. Its entries do not hold the
 * key's hash: a key is known by its fingerprint in the document applied last, or by an entry that created a key of its
 * name and type at that time. Where more keys claim an entry or a fingerprint than there can be, the true one cannot be
 * told, and none is known. An expired key opens nothing and is stated as it is.
 */
export function knownKeys(
  keys: readonly ApiKey[],
  past: PastRecord,
  now: number,
): { known: ApiKey[]; refused: ApiKey[] } {
  const alike = (a: ApiKey, b: ApiKey) => a.name === b.name && a.type === b.type;
  const isApplied = (key: ApiKey) => {
    const print = keyFingerprint(key.hash);
    return (
      past.applied.keys.some(
        ({ name, type, fingerprint }) => name === key.name && type === key.type && fingerprint === print,
      ) && keys.filter((each) => alike(each, key) && keyFingerprint(each.hash) === print).length === 1
    );
  };
  const made = (key: ApiKey) => past.made.filter(({ name, type }) => name === key.name && type === key.type);
  // An entry is never dated before its key, and after it only where clocks disagree.
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
    // Older versions had neither scopes nor networks, so what the row says of them was not written by pmctl.
    return { ...key, scopes: usualScopes(key.type), from: [], expiresAt };
  };
  const isKnown = (key: ApiKey) => !isLive(key, now) || isApplied(key) || isClaimant(key);
  return { known: keys.filter(isKnown).map(asLogged), refused: keys.filter((key) => !isKnown(key)) };
}

const CLOCKS_APART_MS = 60_000;

import { type KeyType, requireScopes, type Scope, usualScopes } from "../../domain/access/scopes.ts";
import type { CreatedKey, StatedKeys } from "../../domain/audit/audit-shapes.ts";
import { Fault } from "../../domain/fault.ts";
import type { Rules } from "../../domain/policy/approvals.ts";
import { governed } from "../approvals/proposals.ts";
import { type CommandKind, KEYRING } from "../command.ts";
import type { Draft } from "../draft.ts";
import { type ApiKey, SINGLE } from "../rows.ts";

/** Only the key's hash is known here. The value never leaves the service that generated it. */
interface CreateKey extends KeyInHand {
  name: string;
  keyType: KeyType;
  /** SHA-256 of the value, hex. */
  hash: string;
  /** The scopes; by default those of its type. */
  scopes?: readonly Scope[] | undefined;
  /** The CIDR ranges from which the key works; all by default. */
  from?: readonly string[] | undefined;
  expiresAt: number | null;
}

/** The key of the request; both fields are undefined for a request without a key. */
export interface KeyInHand {
  /** The key's name: a key cannot end itself. */
  usedName?: string | undefined;
  /** The key's scopes: it cannot grant other scopes. */
  heldScopes?: readonly Scope[] | undefined;
}

interface NamedKey extends KeyInHand {
  name: string;
  /** An error if the key has another type. */
  keyType?: KeyType | undefined;
}

interface RotateKey extends NamedKey {
  hash: string;
  /** How long the old values keep working; leaked values end at once. */
  overlapMs: number;
  leaked?: boolean | undefined;
  /** When the new value expires; by default it gets the lifetime of the old value. */
  expiresAt?: number | undefined;
}

/** A key declared in a file. By default it has the scopes of its type and works from anywhere. */
export interface DeclaredKey extends Pick<ApiKey, "hash" | "name" | "type" | "expiresAt"> {
  scopes?: ApiKey["scopes"] | undefined;
  from?: ApiKey["from"] | undefined;
}

/** A new value of a key needs the actors that the rules state, whether its name is new or not: its holder gets its rights. */
const ruleOfKeys = {
  kind: "key",
  about: ({ name }: { name: string }) => ({ subject: `key:${name}` }),
  terms: ({ approvals: { key } }: Rules) => (key ? { holdHours: 0, approvals: key.approvals } : undefined),
} as const;

/**
 * Puts a key into force.
 * @throws Fault SCOPE_REQUIRED for a scope that the request's key lacks, KEY_EXISTS while a key with this name works,
 * REFUSED for a leaked value, BAD_REQUEST for an expiry in the past
 */
const createNow: CommandKind<CreateKey, ApiKey> = {
  needs: () => [KEYRING],
  decide(draft, command, now) {
    const { name, keyType, hash, scopes = usualScopes(keyType), from = [], expiresAt } = command;
    requireScopes(command.heldScopes, scopes, `to give it to ${name}`);
    requireFuture(expiresAt, now);
    const keyring = draft.get("keyring", SINGLE) ?? [];
    refuseLeaked(keyring, command);
    if (keyring.some((key) => key.name === name && isInForce(key, now)))
      throw new Fault("KEY_EXISTS", `Key ${name} already exists: rotate it, or revoke it first`);
    const key: ApiKey = {
      hash,
      name,
      type: keyType,
      scopes,
      from,
      createdAt: now,
      expiresAt,
      leaked: false,
      onRecord: true,
      version: 0,
    };
    put(draft, [...keyring, key], [key]);
    draft.record("key.created", { ...createdKey(key), keys: statedKeys([key]) });
    return key;
  },
};

export const createKey = governed(createNow, ruleOfKeys);

/**
 * Adds a new value under the same name, with the scopes and networks of the old value. `oldUntil` is when the old
 * values end.
 * @throws Fault NOT_FOUND if no key with this name works; SCOPE_REQUIRED if the key has a scope that the request's key
 * lacks, because the caller learns the new value; REFUSED for a leaked value
 */
const rotateNow: CommandKind<RotateKey, { key: ApiKey; oldUntil: number }> = {
  needs: () => [KEYRING],
  decide(draft, command, now) {
    const { name, hash, leaked = false } = command;
    const overlapMs = leaked ? 0 : command.overlapMs;
    const keyring = draft.get("keyring", SINGLE) ?? [];
    refuseLeaked(keyring, command);
    const live = liveKeys(
      keyring.filter(({ onRecord }) => onRecord),
      command,
      now,
    );
    const newest = live.reduce((a, b) => (b.createdAt >= a.createdAt ? b : a));
    requireScopes(command.heldScopes, newest.scopes, `to be told a value of ${name}`);
    const lifetime = newest.expiresAt === null ? null : newest.expiresAt - newest.createdAt;
    const expiresAt = command.expiresAt ?? (lifetime === null ? null : now + lifetime);
    requireFuture(expiresAt, now);
    // A rotation must not extend the life of an old value.
    const ends = (key: ApiKey) => Math.min(key.expiresAt ?? Number.POSITIVE_INFINITY, now + overlapMs);
    const ending = live.map((key): ApiKey => ({ ...key, expiresAt: ends(key), leaked }));
    const key: ApiKey = { ...newest, hash, createdAt: now, expiresAt, leaked: false, version: 0 };
    put(draft, [...keyring.filter((each) => !live.includes(each)), ...ending, key], [...ending, key]);
    const oldUntil = Math.max(...ending.map(ends));
    draft.record("key.created", {
      ...createdKey(key),
      replaces: true,
      oldUntil: isoOrNull(oldUntil),
      keys: statedKeys([key, ...ending]),
    });
    if (overlapMs === 0)
      draft.record("key.revoked", { name, type: key.type, replaced: true, keys: statedKeys(ending) });
    return { key, oldUntil };
  },
};

export const rotateKey = governed(rotateNow, ruleOfKeys);

/**
 * Ends every value of the name at once.
 * @throws Fault NOT_FOUND if none works, KEY_IN_USE if the request uses this key, which would lock out its own holder
 */
export const revokeKey: CommandKind<NamedKey, { name: string; type: KeyType; revokedAt: number }> = {
  needs: () => [KEYRING],
  decide(draft, command, now) {
    const { name, usedName } = command;
    const keyring = draft.get("keyring", SINGLE) ?? [];
    const live = liveKeys(keyring, command, now);
    if (usedName === name)
      throw new Fault(
        "KEY_IN_USE",
        `This request itself uses the key ${name}: rotate it, or revoke it with another key`,
      );
    const ended = live.map(
      (key): ApiKey => ({ ...key, expiresAt: now, type: live[0]?.type ?? key.type, onRecord: true }),
    );
    put(draft, [...keyring.filter((each) => !live.includes(each)), ...ended], ended);
    const type = live[0]?.type ?? "public";
    draft.record("key.revoked", { name, type, keys: statedKeys(ended) });
    return { name, type, revokedAt: now };
  },
};

/** A name whose values leaked, and whether it has another working value. */
export interface LeakedName {
  name: string;
  usable: boolean;
}

/** Ends values that leaked according to another database. Values unknown to this keyring are refused from then on. */
export const endLeaked: CommandKind<{ keys: readonly ApiKey[] }, LeakedName[]> = {
  needs: () => [KEYRING],
  decide(draft, { keys }, now) {
    const held = new Map((draft.get("keyring", SINGLE) ?? []).map((key) => [key.hash, key]));
    const news = keys.filter(({ hash }) => !held.get(hash)?.leaked);
    if (news.length === 0) return [];
    const ended = news.map((key): ApiKey => {
      const expiresAt = Math.min(key.expiresAt ?? now, now);
      return { ...key, expiresAt, leaked: true, onRecord: true, version: held.get(key.hash)?.version ?? 0 };
    });
    for (const key of ended) held.set(key.hash, key);
    put(draft, [...held.values()], ended);
    for (const each of Map.groupBy(ended, ({ name, type }) => `${type} ${name}`).values()) {
      const [{ name, type }] = each as [ApiKey];
      draft.record("key.revoked", { name, type, keys: statedKeys(each) });
    }
    const names = [...new Set(ended.map(({ name }) => name))].toSorted();
    return names.map((name) => ({
      name,
      usable: [...held.values()].some((key) => key.name === name && isInForce(key, now)),
    }));
  },
};

/** A new or changed key value, as an entry states it. */
export function createdKey({ name, type, hash, scopes, from, expiresAt }: ApiKey): CreatedKey {
  return { name, type, sha256: hash, scopes: [...scopes], from: [...from], expiresAt: isoOrNull(expiresAt) };
}

/**
 * All key values that an entry changes, in their new state. With the entry's name and type, the last entry that lists a
 * value states it completely.
 */
export function statedKeys(keys: readonly ApiKey[]): StatedKeys {
  return Object.fromEntries(
    keys.map(({ hash, scopes, from, createdAt, expiresAt, leaked }) => [
      hash,
      {
        scopes: [...scopes],
        from: [...from],
        createdAt: new Date(createdAt).toISOString(),
        expiresAt: isoOrNull(expiresAt),
        ...(leaked && { leaked }),
      },
    ]),
  );
}

/** @throws Fault REFUSED for a leaked value */
export function refuseLeaked(keyring: readonly ApiKey[], { name, hash }: Pick<ApiKey, "name" | "hash">): void {
  if (keyring.some((key) => key.leaked && key.hash === hash))
    throw new Fault("REFUSED", `The value of the key ${name} was ended as leaked: give the key a new value`);
}

/** Whether a key works at an instant. */
export function isInForce(key: ApiKey, now: number): boolean {
  return key.onRecord && isLive(key, now);
}

/** Whether a key has not yet ended at an instant. */
export function isLive({ expiresAt }: Pick<ApiKey, "expiresAt">, now: number): boolean {
  return expiresAt === null || expiresAt > now;
}

function liveKeys(keyring: readonly ApiKey[], { name, keyType }: NamedKey, now: number): ApiKey[] {
  const live = keyring.filter((key) => key.name === name && isLive(key, now));
  if (live.length === 0) throw new Fault("NOT_FOUND", `There is no valid key ${name}`);
  if (keyType !== undefined && live.some(({ type }) => type !== keyType))
    throw new Fault("NOT_FOUND", `The key ${name} is not of type ${keyType}`);
  return live;
}

function put(draft: Draft, keyring: readonly ApiKey[], changed: readonly ApiKey[]): void {
  for (const key of changed) draft.put("apiKey", key.hash, key);
  draft.put("keyring", SINGLE, keyring);
}

function requireFuture(expiresAt: number | null, now: number): void {
  if (expiresAt !== null && expiresAt <= now) throw new Fault("BAD_REQUEST", "expiresAt: must be in the future");
}

function isoOrNull(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString();
}

import { randomBytes } from "node:crypto";
import type { Input, Result } from "../contract/operations.ts";
import { hashApiKey, keyFingerprint } from "../domain/access/api-key.ts";
import { type KeyType, usualScopes } from "../domain/access/scopes.ts";
import { Fault } from "../domain/fault.ts";
import { isInForce, type KeyInHand } from "../engine/access/keys.ts";
import type { Command } from "../engine/commands.ts";
import type { ApiKey } from "../engine/rows.ts";
import { listApiKeys } from "../ledger/standing.ts";
import { readKeyUse } from "../ledger/unchained/key-use.ts";
import { readClock } from "../postgres/database-time.ts";
import { type ServiceContext, submit } from "./context.ts";
import type { Caller, Handlers } from "./invoke.ts";
import { prepared, submitGoverned } from "./proposals/governed.ts";

const PREFIX: Record<KeyType, string> = { admin: "sk_", public: "pk_" };

/**
 * The tenant's API keys. A value is generated here, returned once and never stored: the command contains its hash, and
 * the stored answer of an `Idempotency-Key` omits the value.
 */
export function keyHandlers(context: ServiceContext) {
  return {
    listKeys: () => listKeys(context),
    createKey: (input, caller) => submitGoverned(context, "createKey", input, preparedKey(input, caller), caller),
    rotateKey: async (input, caller) =>
      submitGoverned(context, "rotateKey", input, await preparedRotation(context, input, caller), caller),
    revokeKey: ({ name, type }, caller) =>
      submit(
        context,
        "revokeKey",
        { type: "revokeKey", name, keyType: type, ...keyInHand(caller) },
        caller,
        (result) => result,
      ),
  } satisfies Handlers;
}

/** 256 random bits after the prefix of its type. */
function newApiKey(type: KeyType): string {
  return `${PREFIX[type]}${randomBytes(32).toString("base64url")}`;
}

async function listKeys({ pool, isSealed }: ServiceContext): Promise<Result<"listKeys">> {
  const [keys, uses, now] = await pool.snapshot((sql) =>
    Promise.all([listApiKeys(sql, isSealed), readKeyUse(sql), readClock(sql)]),
  );
  return keys
    .map((key) => ({
      ...keyView(key),
      active: isInForce(key, now),
      onRecord: key.onRecord,
      lastUsedAt: uses.get(key.hash) ?? null,
    }))
    .toSorted((a, b) => a.name.localeCompare(b.name) || a.createdAt - b.createdAt);
}

/** A stored key, as lists and the configuration show it. */
export function keyView({ hash, name, type, scopes, from, createdAt, expiresAt, leaked }: ApiKey) {
  const fingerprint = keyFingerprint(hash);
  return { name, type, fingerprint, scopes: [...scopes], from: [...from], createdAt, expiresAt, leaked };
}

/** A new key with a fresh value. */
export function preparedKey(input: Input<"createKey">, caller: Caller) {
  const { name, type, from, expiresAt = null } = input;
  if (type === "public" && input.scopes) throw new Fault("BAD_REQUEST", "scopes: only admin keys have scopes");
  const scopes = input.scopes ?? [...usualScopes(type)];
  const value = newApiKey(type);
  const answer = (key: string | null, createdAt: number) => ({ name, type, scopes, from, key, createdAt, expiresAt });
  return prepared<"createKey", Command<"createKey">>({
    command: {
      type: "createKey",
      name,
      keyType: type,
      hash: hashApiKey(value),
      scopes,
      from,
      expiresAt,
      ...keyInHand(caller),
    },
    answer: ({ createdAt }) => answer(value, createdAt),
    repeated: ({ createdAt }) => answer(null, createdAt),
  });
}

/** A fresh value for a key. */
export async function preparedRotation(context: ServiceContext, input: Input<"rotateKey">, caller: Caller) {
  const { name, overlapSeconds, leaked, expiresAt } = input;
  // The prefix follows the type, which never changes while the name is in force; the command checks it again.
  const type = input.type ?? (await typeOf(context, name));
  const value = newApiKey(type);
  const answer = (key: string | null, rotated: Rotated): Result<"rotateKey"> => ({
    name,
    type,
    scopes: [...rotated.key.scopes],
    from: [...rotated.key.from],
    key,
    createdAt: rotated.key.createdAt,
    expiresAt: rotated.key.expiresAt,
    oldUntil: rotated.oldUntil,
  });
  return prepared<"rotateKey", Command<"rotateKey">>({
    command: {
      type: "rotateKey",
      name,
      keyType: type,
      hash: hashApiKey(value),
      overlapMs: overlapSeconds * 1000,
      leaked,
      expiresAt,
      ...keyInHand(caller),
    },
    answer: (rotated) => answer(value, rotated),
    repeated: (rotated) => answer(null, rotated),
  });
}

interface Rotated {
  key: Pick<ApiKey, "scopes" | "from" | "createdAt" | "expiresAt">;
  oldUntil: number;
}

/** The type of the newest key with this name; the command refuses an unknown name. */
async function typeOf({ pool, isSealed }: ServiceContext, name: string): Promise<KeyType> {
  const keys = await pool.read((sql) => listApiKeys(sql, isSealed));
  const named = keys.filter((key) => key.onRecord && key.name === name);
  return named.toSorted((a, b) => b.createdAt - a.createdAt)[0]?.type ?? "public";
}

/** The caller's own key, named by the actor. */
export function keyInHand({ actor, scopes }: Caller): KeyInHand {
  return {
    usedName: actor.startsWith("admin:") ? actor.slice("admin:".length) : undefined,
    heldScopes: scopes,
  };
}

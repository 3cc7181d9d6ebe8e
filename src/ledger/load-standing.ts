import { normalRange } from "../domain/access/networks.ts";
import { isScope, type KeyType, usualScopes } from "../domain/access/scopes.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { Fault } from "../domain/fault.ts";
import type { KycState } from "../domain/trader.ts";
import { isInForce } from "../engine/keys.ts";
import type { ApiKey, PastRecord, Trader } from "../engine/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { configurationSaid, instantOf, keysSaid, linkOf, type Said, saidBy, upToHead, userSaid } from "./on-record.ts";
import { TABLES } from "./tables.ts";

/**
 * Users with the standing that sealed audit entries give them, whatever their rows in the table say and whether or not
 * these exist. For each user four probes of an index, and a hash or two.
 */
export async function loadTraders(sql: ReadSql, ids: string[], isSealed: IsSealed): Promise<Map<string, Trader>> {
  const rows = await sql`
    select u.id, t.created_at, t.version, kyc.link as kyc, place.link as place, stop.link as stop, test.link as test
      from unnest(${textArray(ids)}::text[]) as u (id)
      -- Looked up one by one: for a page of users the planner would rather read them all.
      left join lateral (select id, created_at, version from trader where id = u.id offset 0) t on true
      left join lateral (${userSaid(sql, "kyc.updated")}) kyc on true
      left join lateral (
        ${userSaid(sql, "kyc.updated", sql`and audit_json(payload) ->> 'jurisdiction' is not null`)}
      ) place on true
      left join lateral (${userSaid(sql, "user.restricted")}) stop on true
      left join lateral (${userSaid(sql, "suitability.submitted")}) test on true
     where t.id is not null or kyc.link is not null or stop.link is not null or test.link is not null`;
  return new Map(rows.map((row) => [row.id as string, traderOf(row, isSealed)]));
}

/**
 * An entry whose seal is broken counts as the stricter case: unverified, no score, restricted. A broken jurisdiction
 * restricts too, or the one that the user's token claims would take its place.
 */
function traderOf(row: Record<string, unknown>, isSealed: IsSealed): Trader {
  const saidOf = (name: string) => saidBy(row[name], isSealed);
  const [kyc, place, stop, test] = [saidOf("kyc"), saidOf("place"), saidOf("stop"), saidOf("test")];
  const jurisdiction = fieldOf(place, "jurisdiction");
  const score = fieldOf(test, "score");
  return {
    id: row.id as string,
    kyc: kycOf(fieldOf(kyc, "status")),
    restricted: stop === "broken" || place === "broken" || fieldOf(stop, "restricted") === true,
    jurisdiction: typeof jurisdiction === "string" ? jurisdiction : null,
    kycAt: instantOf(fieldOf(kyc, "verifiedAt")),
    suitabilityScore: Number.isInteger(score) ? (score as number) : null,
    suitabilityAt: test === "broken" ? null : instantOf(fieldOf(test, "submittedAt") ?? test?.ts),
    createdAt: Number(row.created_at ?? 0),
    version: Number(row.version ?? 0),
  };
}

function fieldOf(said: Said | "broken" | undefined, name: string): unknown {
  return said === "broken" ? undefined : said?.payload[name];
}

function kycOf(status: unknown): KycState {
  if (status === "passed") return "verified";
  return status === "failed" ? "rejected" : "unverified";
}

/**
 * All API keys, or only those in force by the database's clock. Name, type, scopes, networks and times are those of the
 * last audit entry that lists the key's hash, whatever the table says. A key whose row was deleted still exists, at
 * version 0, and the next write restores its row. A key that no sealed entry lists is shown as the table has it and is
 * not on record.
 */
export async function listApiKeys(sql: ReadSql, isSealed: IsSealed, { inForce = false } = {}): Promise<ApiKey[]> {
  const rows = await sql`
    with ${keysSaid(sql)}
    select coalesce(k.hash, said.hash) as hash, k.name, k.type, k.scopes, k.networks, k.created_at, k.expires_at, k.version,
           said.link, ${nowMs(sql)} as now
      from api_key k
      full join keys_said said on said.hash = k.hash`;
  const keys = rows.flatMap((row): ApiKey[] => {
    const { hash } = row;
    const said = saidBy(row.link, isSealed);
    const stated = !said || said === "broken" ? undefined : statedKey(hash, said.payload as unknown as Entry);
    if (stated) return [{ hash, ...stated, onRecord: true, version: Number(row.version ?? 0) }];
    return row.name === null ? [] : [TABLES.apiKey.decode(row)];
  });
  const now = Number(rows[0]?.now);
  return keys
    .filter((key) => !inForce || isInForce(key, now))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1));
}

type Entry = { name?: unknown; type?: unknown; keys: { [hash: string]: { [field: string]: unknown } } };

/** What an entry states of a key's hash; undefined unless it states all of it. */
function statedKey(
  hash: string,
  { name, type, keys }: Entry,
): Omit<ApiKey, "hash" | "onRecord" | "version"> | undefined {
  const value = keys[hash] ?? {};
  const createdAt = instantOf(value.createdAt);
  const end = value.expiresAt;
  const expiresAt = end === null ? null : instantOf(end);
  if (typeof name !== "string" || (type !== "admin" && type !== "public") || createdAt === null) return undefined;
  // Entries of older versions state neither scopes nor networks.
  const scopes = value.scopes === undefined ? usualScopes(type) : listOf(value.scopes, isScope);
  const from = value.from === undefined ? [] : listOf(value.from, isRange);
  if (!scopes || !from || (end !== null && expiresAt === null)) return undefined;
  return { name, type, scopes, from, createdAt, expiresAt };
}

function listOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): Item[] | undefined {
  return Array.isArray(value) && value.every(isItem) ? value : undefined;
}

function isRange(text: unknown): text is string {
  return typeof text === "string" && normalRange(text) === text;
}

/**
 * What older versions of pmctl did with keys and did not put on record; nothing once an apply has done so, and nothing
 * where the seal of an entry that tells of it is broken.
 */
export async function loadPastRecord(sql: ReadSql, isSealed: IsSealed): Promise<PastRecord> {
  const nothing: PastRecord = { complete: false, made: [], ended: [], applied: { at: 0, keys: [] } };
  const [state] = await sql`
    with ${configurationSaid(sql)}
    select legacy, (select link from config_said where type <> 'policy.updated' order by seq desc limit 1) as link
      from legacy`;
  if (state?.legacy !== true) return { ...nothing, complete: true };
  // An entry whose statement was removed would otherwise make the next apply put on record whatever the table holds.
  if (saidBy(state.link, isSealed) === "broken") return nothing;
  const rows = await sql`
    select ${linkOf(sql)} as link, latest.type
      from audit latest
     where (type in ('key.created', 'key.revoked')
            or seq = (select max(seq) from audit where type = 'config.applied' and ${upToHead(sql)}))
       and ${upToHead(sql)}
     order by seq`;
  const said = rows.map(({ link, type }) => ({ type: type as string, said: saidBy(link, isSealed) }));
  const held = said.flatMap(({ type, said }) => (!said || said === "broken" ? [] : [{ type, ...said }]));
  if (held.length < said.length) return nothing;
  const entries = held.flatMap(({ type, ts, payload }) => {
    const [at, name] = [instantOf(ts), payload.name];
    return at === null || typeof name !== "string" || type === "config.applied" ? [] : [{ type, at, name, payload }];
  });
  const created = entries.filter(({ type }) => type === "key.created");
  return {
    complete: false,
    made: created.map(({ name, payload, at }) => ({ name, type: payload.type as KeyType, at })),
    ended: [
      ...entries.filter(({ type }) => type === "key.revoked").map(({ name, at }) => ({ name, at, until: at })),
      ...created.flatMap(({ name, at, payload }) => {
        const until = instantOf(payload.oldUntil);
        return until === null ? [] : [{ name, at, until }];
      }),
    ],
    applied: appliedKeys(held.find(({ type }) => type === "config.applied")),
  };
}

/** A document lists each key as its type, its fingerprint and, if it has one, its end. */
function appliedKeys(said: Said | undefined): PastRecord["applied"] {
  const document = said?.payload.document as { keyring?: unknown } | null | undefined;
  const keyring = typeof document?.keyring === "object" && document.keyring !== null ? document.keyring : {};
  return {
    at: instantOf(said?.ts) ?? 0,
    keys: Object.entries(keyring).map(([name, text]) => {
      const [type = "", fingerprint = ""] = String(text).split(" ");
      return { name, type, fingerprint };
    }),
  };
}

/** Whether an older version left keys that no apply has put on record yet; until then they are refused. */
export async function isUnrecorded(sql: ReadSql): Promise<boolean> {
  const [state] = await sql`with ${configurationSaid(sql)} select legacy from legacy`;
  return state?.legacy === true;
}

/**
 * @throws Fault REFUSED for a tenant whose schema was brought forward without an apply: its keys are not on record yet,
 * so a server would refuse every caller
 */
export async function requireOnRecord(sql: ReadSql, tenantId: string): Promise<void> {
  if (await isUnrecorded(sql))
    throw new Fault(
      "REFUSED",
      `${tenantId}: what an older version left is not on record yet: run pmctl apply ${tenantId}`,
    );
}

import { Fault } from "../domain/fault.ts";
import type { KycState } from "../domain/trader.ts";
import { isInForce } from "../engine/keys.ts";
import type { ApiKey, KeyType, PastRecord, Trader } from "../engine/rows.ts";
import { textArray } from "./arrays.ts";
import type { ReadSql } from "./connect.ts";
import { nowMs } from "./queries/clock.ts";
import { configurationSaid, keysSaid, upToHead, userSaid } from "./queries/on-record.ts";

/**
 * Users with the standing that the audit log gives them: what the table alone says counts for nothing, and neither does a
 * row that is gone. Three probes of an index for each user that is not in memory yet.
 */
export async function loadTraders(sql: ReadSql, ids: string[]): Promise<Map<string, Trader>> {
  const rows = await sql`
    select u.id, t.created_at, t.version, kyc.entry ->> 'status' as status, kyc.entry ->> 'verifiedAt' as verified_at,
           place.entry ->> 'jurisdiction' as jurisdiction, stop.entry ->> 'restricted' as restricted,
           test.entry ->> 'score' as score, coalesce(test.entry ->> 'submittedAt', test.ts) as submitted_at
      from unnest(${textArray(ids)}::text[]) as u (id)
      left join trader t on t.id = u.id
      left join lateral (${userSaid(sql, "kyc.updated")}) kyc on true
      left join lateral (
        ${userSaid(sql, "kyc.updated", sql`and audit_json(payload) ->> 'jurisdiction' is not null`)}
      ) place on true
      left join lateral (${userSaid(sql, "user.restricted")}) stop on true
      left join lateral (${userSaid(sql, "suitability.submitted")}) test on true
     where t.id is not null or kyc.entry is not null or stop.entry is not null or test.entry is not null`;
  return new Map(rows.map((row) => [row.id as string, traderOf(row)]));
}

function traderOf(row: Record<string, unknown>): Trader {
  const score = row.score === null ? null : Number(row.score);
  return {
    id: row.id as string,
    kyc: kycOf(row.status),
    restricted: row.restricted === "true",
    jurisdiction: row.jurisdiction as string | null,
    kycAt: instantOf(row.verified_at),
    suitabilityScore: Number.isInteger(score) ? score : null,
    suitabilityAt: instantOf(row.submitted_at),
    createdAt: Number(row.created_at ?? 0),
    version: Number(row.version ?? 0),
  };
}

function kycOf(status: unknown): KycState {
  if (status === "passed") return "verified";
  return status === "failed" ? "rejected" : "unverified";
}

/** What is no time, in an entry that was broken, is none. */
function instantOf(text: unknown): number | null {
  const at = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/**
 * All API keys, ended ones included unless only those in force are asked for: by the database's clock, not by ours.
 * Name, type and times are those of the last entry that lists the value, whatever the table says, and so a key whose row
 * is gone is one still: of version 0, as the next write puts the row back. A key that no entry lists is shown as the
 * table has it, and is not on record.
 */
export async function listApiKeys(sql: ReadSql, { inForce = false } = {}): Promise<ApiKey[]> {
  const rows = await sql`
    with ${keysSaid(sql)}
    select coalesce(k.hash, said.hash) as hash, k.name, k.type, k.created_at, k.expires_at, k.version,
           said.entry::text as entry, ${nowMs(sql)} as now
      from api_key k
      full join keys_said said on said.hash = k.hash`;
  const keys = rows.flatMap((row): ApiKey[] => {
    const { hash } = row;
    const stated = row.entry === null ? undefined : statedKey(hash, JSON.parse(row.entry));
    if (stated) return [{ hash, ...stated, onRecord: true, version: Number(row.version ?? 0) }];
    return row.name === null ? [] : [keyAsHeld(row)];
  });
  const now = Number(rows[0]?.now);
  return keys
    .filter((key) => !inForce || isInForce(key, now))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1));
}

function keyAsHeld(row: Record<string, unknown>): ApiKey {
  return {
    hash: row.hash as string,
    name: row.name as string,
    type: row.type as KeyType,
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    onRecord: false,
    version: Number(row.version),
  };
}

type Entry = { name?: unknown; type?: unknown; keys: { [hash: string]: { createdAt?: unknown; expiresAt?: unknown } } };

/** What an entry says of a value; nothing where it does not say all. */
function statedKey(
  hash: string,
  { name, type, keys }: Entry,
): Omit<ApiKey, "hash" | "onRecord" | "version"> | undefined {
  const createdAt = instantOf(keys[hash]?.createdAt);
  const end = keys[hash]?.expiresAt;
  const expiresAt = end === null ? null : instantOf(end);
  if (typeof name !== "string" || (type !== "admin" && type !== "public") || createdAt === null) return undefined;
  return end !== null && expiresAt === null ? undefined : { name, type, createdAt, expiresAt };
}

/** What older versions left to be put on record; nothing once that is done. */
export async function loadPastRecord(sql: ReadSql): Promise<PastRecord> {
  const [state] = await sql`with ${configurationSaid(sql)} select legacy from legacy`;
  if (state?.legacy !== true) return { complete: true, made: [], ended: [], applied: { at: 0, keys: [] } };
  const rows = await sql`
    select type, ts, audit_json(payload) ->> 'name' as name, audit_json(payload) ->> 'type' as key_type,
           audit_json(payload) ->> 'oldUntil' as old_until
      from audit
     where type in ('key.created', 'key.revoked') and ${upToHead(sql)}
     order by seq`;
  const entries = rows.flatMap((row) => {
    const at = instantOf(row.ts);
    return at === null || row.name === null ? [] : [{ ...row, name: row.name as string, at } as PastEntry];
  });
  const created = entries.filter(({ type }) => type === "key.created");
  return {
    complete: false,
    made: created.map(({ name, key_type, at }) => ({ name, type: key_type, at })),
    ended: [
      ...entries.filter(({ type }) => type === "key.revoked").map(({ name, at }) => ({ name, at, until: at })),
      ...created.flatMap(({ name, at, old_until }) => {
        const until = instantOf(old_until);
        return until === null ? [] : [{ name, at, until }];
      }),
    ],
    applied: await loadAppliedKeys(sql),
  };
}

/**
 * @throws Fault REFUSED for a tenant whose schema was brought forward without an apply: its keys are not on record yet,
 * so a server would open to nobody
 */
export async function requireOnRecord(sql: ReadSql, tenantId: string): Promise<void> {
  const [state] = await sql`with ${configurationSaid(sql)} select legacy from legacy`;
  if (state?.legacy === true)
    throw new Fault(
      "REFUSED",
      `${tenantId}: what an older version left is not on record yet: run pmctl apply ${tenantId}`,
    );
}

interface PastEntry {
  type: string;
  key_type: string;
  name: string;
  at: number;
  old_until: string | null;
}

/** A document lists each key as its type, its fingerprint and, where there is one, its end. */
async function loadAppliedKeys(sql: ReadSql): Promise<PastRecord["applied"]> {
  const rows = await sql`
    select latest.ts, each.key as name, split_part(each.value, ' ', 1) as type, split_part(each.value, ' ', 2) as fingerprint
      from (
        select ts, audit_json(payload) #> '{document,keyring}' as keyring
          from audit
         where type = 'config.applied' and ${upToHead(sql)}
         order by seq desc
         limit 1
      ) latest
     cross join lateral jsonb_each_text(case when jsonb_typeof(keyring) = 'object' then keyring else '{}' end) each`;
  return {
    at: instantOf(rows[0]?.ts) ?? 0,
    keys: rows.map(({ name, type, fingerprint }) => ({ name, type, fingerprint })),
  };
}

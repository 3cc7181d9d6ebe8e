import { normalRange } from "../domain/access/networks.ts";
import { isScope } from "../domain/access/scopes.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { isKycStatus, KYC_STATE_OF, type KycState } from "../domain/trader.ts";
import { isInForce } from "../engine/keys.ts";
import type { ApiKey, Trader } from "../engine/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { instantOf, keysSaid, type Said, saidBy, userSaid } from "./on-record.ts";
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
    suitabilityAt: test === "broken" ? null : instantOf(fieldOf(test, "submittedAt")),
    createdAt: Number(row.created_at ?? 0),
    version: Number(row.version ?? 0),
  };
}

function fieldOf(said: Said | "broken" | undefined, name: string): unknown {
  return said === "broken" ? undefined : said?.payload[name];
}

function kycOf(status: unknown): KycState {
  return isKycStatus(status) ? KYC_STATE_OF[status] : "unverified";
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
    select coalesce(k.hash, said.hash) as hash, k.name, k.type, k.scopes, k.networks, k.created_at, k.expires_at, k.leaked,
           k.version,
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
  const [scopes, from] = [listOf(value.scopes, isScope), listOf(value.from, isRange)];
  if (!scopes || !from || (end !== null && expiresAt === null)) return undefined;
  return { name, type, scopes, from, createdAt, expiresAt, leaked: value.leaked === true };
}

function listOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): Item[] | undefined {
  return Array.isArray(value) && value.every(isItem) ? value : undefined;
}

function isRange(text: unknown): text is string {
  return typeof text === "string" && normalRange(text) === text;
}

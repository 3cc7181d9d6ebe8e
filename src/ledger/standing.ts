/**
 * The state of users, keys, sessions and the configuration according to the audit log, whatever the tables contain.
 * This file decides which entries count; `applyEntry` decides what an entry does to a row.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { usdFromMicro } from "../domain/money.ts";
import { MAX_FREEZE_MS } from "../domain/policy/freeze.ts";
import { instantText } from "../domain/time/timestamp.ts";
import { isInForce } from "../engine/access/keys.ts";
import { type ApiKey, type Revocation, SINGLE, type Tenant, type TenantRecord, type Trader } from "../engine/rows.ts";
import { newTrader } from "../engine/traders.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql, Row } from "../postgres/connect.ts";
import { nowMs, readClock } from "../postgres/database-time.ts";
import { applyEntry } from "../replay/fold.ts";
import { LoggedRows } from "../replay/logged-rows.ts";
import { keysSaid, latestOf, type Said, saidBy, userSaid } from "./on-record.ts";
import { TABLES } from "./tables.ts";

/** The rows after these entries; broken or missing entries do nothing. */
function rowsOf(entries: readonly (Said | "broken" | undefined)[]): LoggedRows {
  const rows = new LoggedRows();
  for (const said of entries) if (said && said !== "broken") applyEntry(rows, said);
  return rows;
}

/**
 * Users with the state given by sealed audit entries, whether or not their rows exist. Each user costs four index
 * probes and a hash or two.
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
 * An entry with a broken seal counts as the stricter case: unverified, no score, restricted. A broken jurisdiction also
 * restricts, because otherwise the claim in the user's token would replace it.
 */
function traderOf({ id, created_at, version, ...links }: Row, isSealed: IsSealed): Trader {
  const [place, kyc, stop, test] = [links.place, links.kyc, links.stop, links.test].map((link) =>
    saidBy(link, isSealed),
  );
  const trader = rowsOf([place, kyc, stop, test]).get("trader", id) ?? newTrader(id, 0);
  return {
    ...trader,
    ...(kyc === "broken" ? { kyc: "unverified", kycAt: null } : {}),
    restricted: trader.restricted || stop === "broken" || place === "broken",
    createdAt: Number(created_at ?? 0),
    version: Number(version ?? 0),
  };
}

/**
 * All API keys, or only those in force by the database's clock. Name, type, scopes, networks and times come from the
 * last audit entry that lists the key's hash. A key whose row was deleted still exists, at version 0, and the next
 * write restores its row. A key without a sealed entry is returned as stored, with `onRecord` false.
 */
export async function listApiKeys(sql: ReadSql, isSealed: IsSealed, { inForce = false } = {}): Promise<ApiKey[]> {
  const rows = await sql`
    with ${keysSaid(sql)}
    select coalesce(k.hash, said.hash) as hash, k.name, k.type, k.scopes, k.networks, k.created_at, k.expires_at, k.leaked, k.version,
           said.link, ${nowMs(sql)} as now
      from api_key k
      full join keys_said said on said.hash = k.hash`;
  const keys = rows.flatMap((row): ApiKey[] => {
    const stated = rowsOf([saidBy(row.link, isSealed)]).get("apiKey", row.hash);
    if (stated) return [{ ...stated, version: Number(row.version ?? 0) }];
    return row.name === null ? [] : [TABLES.apiKey.decode(row)];
  });
  const now = Number(rows[0]?.now);
  return keys
    .filter((key) => !inForce || isInForce(key, now))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1));
}

/** The last entry about each user's sessions. A broken entry states nothing, so that a new entry replaces it. */
export async function loadRevocations(
  sql: ReadSql,
  userIds: string[],
  isSealed: IsSealed,
): Promise<Map<string, Revocation>> {
  const rows = await sql`
    select u.id, said.link
      from unnest(${textArray(userIds)}::text[]) as u (id)
     cross join lateral (${userSaid(sql, "session.revoked")}) said`;
  const revoked = rowsOf(rows.map(({ link }) => saidBy(link, isSealed)));
  return new Map(rows.map(({ id }) => [id, revoked.get("revocation", id) ?? { before: null }]));
}

/**
 * The tenant's row according to its last entries, and whether the stored row differs. A broken last entry states
 * nothing. The document is only in the last apply, and counts if the last entry names its hash.
 */
export async function loadTenantRecord(sql: ReadSql, isSealed: IsSealed): Promise<TenantRecord> {
  const [entries, held] = await Promise.all([
    latestOf(sql, ["config.applied", "policy.updated"], isSealed),
    readTenant(sql),
  ]);
  const last = entries.at(-1);
  const tenant = rowsOf(entries).get("tenant", SINGLE);
  if (!tenant || last === "broken") return { stated: null, strays: last === "broken" };
  const state = last?.type === "config.applied" || last?.type === "policy.updated" ? last.payload.state : undefined;
  const isHere = state?.document === sha256(tenant.document);
  const [stated, there] = [settingsOf(tenant), settingsOf(held)];
  const strays = [...stated, ...there].some(([field]) => stated.get(field) !== there.get(field));
  return { stated: { ...tenant, document: isHere ? tenant.document : null }, strays };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** The tenant's stored row; also undefined if the row is unreadable. */
export async function readTenant(sql: ReadSql): Promise<Tenant | undefined> {
  const [stored] = await sql`select ${sql.unsafe(TABLES.tenant.selected())} from tenant`;
  try {
    return stored && TABLES.tenant.decode(stored);
  } catch {
    return undefined;
  }
}

/** The fields of the tenant's row, as reconciliation compares and names them. */
export function settingsOf(tenant: Tenant | undefined): Map<string, string> {
  if (!tenant) return new Map();
  const { policy, overrides, policyUpdatedAt, kycRequired, liquidityMicro, capitalMicro, document } = tenant;
  const ends = overrides.map((each) => ({ ...each, until: instantText(each.until) }));
  return new Map([
    ...Object.entries(policy).map(([field, value]) => [`policy.${field}`, canonicalJson(value)] as const),
    ["policy.overrides", canonicalJson(ends)],
    ["policy.updatedAt", instantText(policyUpdatedAt)],
    ["kyc.required", String(kycRequired)],
    ["markets.liquidityUsd", String(usdFromMicro(liquidityMicro))],
    ["treasury.capitalUsd", String(usdFromMicro(capitalMicro))],
    ["document", document],
  ]);
}

/** The freeze in force. */
export interface FreezeInForce {
  /** Milliseconds since the epoch. */
  until: number;
  reason: string;
  /** Who froze the configuration, as an actor of audit entries. */
  by: string;
}

/**
 * The freeze in the last entry about freezes, even if its time is over; null if that entry lifted it. An entry with a
 * broken seal counts as the longest freeze: a forged entry must not allow an apply.
 */
export async function lastFreeze(sql: ReadSql, isSealed: IsSealed): Promise<FreezeInForce | null> {
  const last = (await latestOf(sql, ["config.frozen", "config.unfrozen"], isSealed)).at(-1);
  if (last === "broken") {
    const until = (await readClock(sql)) + MAX_FREEZE_MS;
    return { until, reason: "the entry of the freeze was tampered with", by: "unknown" };
  }
  const until = rowsOf([last]).get("freeze", SINGLE)?.until;
  if (!last || !until) return null;
  return { until, reason: "reason" in last.payload ? String(last.payload.reason) : "", by: last.actor };
}

/** The logged freeze, unless its time is over by the database's clock; null for none. */
export async function readFreeze(sql: ReadSql, isSealed: IsSealed): Promise<FreezeInForce | null> {
  const [freeze, now] = await Promise.all([lastFreeze(sql, isSealed), readClock(sql)]);
  return freeze !== null && freeze.until > now ? freeze : null;
}

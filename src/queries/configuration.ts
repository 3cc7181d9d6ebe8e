import { payloadOf } from "../domain/audit/audit-link.ts";
import type { StoredStatus } from "../domain/market/market.ts";
import type { Market } from "../engine/rows.ts";
import { json, rowReader, text, whole } from "../ledger/codec.ts";
import { loadRows } from "../ledger/load.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";

/** Whether an override is past its end and still in the tenant's row. */
export async function hasEndedOverrides(sql: ReadSql): Promise<boolean> {
  const rows = await sql`
    select 1
      from tenant, jsonb_array_elements(overrides::jsonb) as each
     where (each ->> 'until')::bigint <= ${nowMs(sql)}
     limit 1`;
  return rows.length > 0;
}

/** A market that a file declared, as it stands now. */
export interface FileMarket {
  market: Market & { fileKey: string };
  status: StoredStatus;
}

/** Every market that came from a file, settled ones too: a key is never used again. */
export async function listFileMarkets(sql: ReadSql): Promise<FileMarket[]> {
  const rows = await sql<{ id: string; status: StoredStatus }[]>`
    select m.id, b.status
      from market m
      join book b on b.market_id = m.id
     where m.file_key is not null
     order by m.file_key`;
  const statuses = new Map(rows.map(({ id, status }) => [id, status]));
  const loaded = await loadRows(
    sql,
    rows.map(({ id }) => ({ table: "market", key: id })),
  );
  return loaded.flatMap(({ row }) => {
    const market = row as Market | null;
    const status = market ? statuses.get(market.id) : undefined;
    return market?.fileKey && status ? [{ market: { ...market, fileKey: market.fileKey }, status }] : [];
  });
}

const toEntry = rowReader({
  seq: whole(),
  type: text(),
  actor: text(),
  ts: text(),
  hash: text(),
  payload: { ...json<Record<string, unknown>>(), decode: (stored) => payloadOf({ payloadText: stored }) },
});
/** An entry that changed the configuration, live or by an apply. */
export type ConfigurationEntry = ReturnType<typeof toEntry>;

/** Word for word the condition of the partial index, so that a million trades in between cost nothing. */
const ofConfiguration = (sql: ReadSql) =>
  sql`type in ('config.applied', 'policy.updated', 'key.created', 'key.revoked', 'market.suspended', 'market.resumed')`;

/** The latest entries of changes that no apply made, newest first: applies carry whole documents. */
export async function listLiveChanges(sql: ReadSql, limit: number): Promise<ConfigurationEntry[]> {
  const rows = await sql`
    select seq, type, actor, payload, ts, hash
      from audit
     where ${ofConfiguration(sql)}
       and type <> 'config.applied'
     order by seq desc
     limit ${limit}`;
  return rows.map((row) => withoutStates(toEntry(row)));
}

/** Leaves out whole states and hashes of keys, which serve verification and do not say who changed what. */
function withoutStates({ payload, ...entry }: ConfigurationEntry): ConfigurationEntry {
  const { state: _state, keys: _keys, sha256: _sha256, ...change } = payload;
  return { ...entry, payload: change };
}

/** The applies, newest first: those before a seq, or only the one with it. */
export async function readApplies(
  sql: ReadSql,
  { limit, before, seq }: { limit: number; before?: number | undefined; seq?: number | undefined },
): Promise<ConfigurationEntry[]> {
  const rows = await sql`
    select seq, type, actor, payload, ts, hash
      from audit
     where ${ofConfiguration(sql)}
       and type = 'config.applied'
       ${seq === undefined ? sql`` : sql`and seq = ${seq}`}
       ${before === undefined ? sql`` : sql`and seq < ${before}`}
     order by seq desc
     limit ${limit}`;
  return rows.map(toEntry);
}

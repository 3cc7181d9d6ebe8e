import { SYSTEM_ACTOR } from "../domain/audit/actors.ts";
import { payloadOf } from "../domain/audit/audit-link.ts";
import type { StoredStatus } from "../domain/market/market.ts";
import type { Market } from "../engine/rows.ts";
import { json, rowReader, text, whole } from "../ledger/codec.ts";
import { loadRows } from "../ledger/load.ts";
import { isNaming } from "../ledger/market-names.ts";
import { upToHead } from "../ledger/on-record.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";

/** Whether an override has ended but is still in the tenant's row. */
export async function hasEndedOverrides(sql: ReadSql): Promise<boolean> {
  const rows = await sql`
    select 1
      from tenant, jsonb_array_elements(overrides::jsonb) as each
     where (each ->> 'until')::bigint <= ${nowMs(sql)}
     limit 1`;
  return rows.length > 0;
}

/** The liquidity of all unsettled markets, with or without a key: the most that they can lose. */
export async function sumAtRisk(sql: ReadSql): Promise<bigint> {
  const [row] = await sql<{ micro: string }[]>`
    select coalesce(sum(m.fund_micro), 0)::text as micro
      from book b
      join market m on m.id = b.market_id
     where b.status <> 'settled'`;
  return BigInt(row?.micro ?? 0);
}

/** A market with its keys in files, in its present state. */
export interface FileMarket {
  market: Market;
  /** Null for a market without a key. */
  key: string | null;
  /** The market's earlier keys. */
  formerKeys: string[];
  status: StoredStatus;
  /** The proposal about the market that waits; null for none. */
  proposalId: string | null;
}

/** Every market with a key, also settled ones, because a key is never used again. */
export async function listFileMarkets(sql: ReadSql): Promise<FileMarket[]> {
  const markets = await keyedMarkets(
    sql,
    sql`select id from market where file_key is not null union select id from named`,
  );
  return markets.toSorted((a, b) => ((a.key ?? "") < (b.key ?? "") ? -1 : 1));
}

/** Unsettled markets by id, with or without a key. */
export async function listUnsettledMarkets(
  sql: ReadSql,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<FileMarket[]> {
  return keyedMarkets(
    sql,
    sql`select market_id as id
          from book
         where status <> 'settled' ${after === undefined ? sql`` : sql`and market_id > ${after}`}
         order by market_id
         limit ${limit}`,
  );
}

/** @param chosen selects the ids; `named` are the markets with keys from files */
async function keyedMarkets(sql: ReadSql, chosen: ReturnType<ReadSql>): Promise<FileMarket[]> {
  const rows = await sql<{ id: string; status: StoredStatus; proposal_id: string | null; keys: string[] }[]>`
    with named as (
      select audit_json(payload) ->> 'marketId' as id, array_agg(audit_json(payload) ->> 'key' order by seq) as keys
        from audit
       where ${isNaming(sql)} and ${upToHead(sql)}
       group by 1
    )
    select m.id, b.status, p.id as proposal_id, array_to_json(array_remove(m.file_key || n.keys, null)) as keys
      from (${chosen}) chosen
      join market m on m.id = chosen.id
      join book b on b.market_id = m.id
      left join named n on n.id = m.id
      left join proposal p on p.subject = 'market:' || m.id and p.status = 'pending'
     order by m.id`;
  const places = new Map(rows.map((row) => [row.id, row]));
  const loaded = await loadRows(
    sql,
    rows.map(({ id }) => ({ table: "market", key: id })),
  );
  return loaded.flatMap(({ row }): FileMarket[] => {
    const market = row as Market | null;
    const place = market ? places.get(market.id) : undefined;
    if (!market || !place) return [];
    const key = place.keys.at(-1) ?? null;
    const { keys, status, proposal_id: proposalId } = place;
    return [{ market, key, formerKeys: [...new Set(keys)].filter((each) => each !== key), status, proposalId }];
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

/** Exactly the condition of the partial index, so that a million trades in between cost nothing. */
const ofConfiguration = (sql: ReadSql) =>
  sql`type in ('config.applied', 'policy.updated', 'key.created', 'key.revoked', 'market.suspended', 'market.resumed')`;

/**
 * The latest entries of live changes, newest first; without applies, which carry whole documents, and without the ends
 * of overrides by the clock, which change no stored value.
 */
export async function listLiveChanges(sql: ReadSql, limit: number): Promise<ConfigurationEntry[]> {
  const rows = await sql`
    select seq, type, actor, payload, ts, hash
      from audit
     where ${ofConfiguration(sql)}
       and type <> 'config.applied'
       and not (type = 'policy.updated' and actor = ${SYSTEM_ACTOR})
     order by seq desc
     limit ${limit}`;
  return rows.map((row) => withoutStates(toEntry(row)));
}

/** Drops whole states and hashes of keys, which are for verification and do not say who changed what. */
function withoutStates({ payload, ...entry }: ConfigurationEntry): ConfigurationEntry {
  const { state: _state, keys: _keys, sha256: _sha256, ...change } = payload;
  return { ...entry, payload: change };
}

/** The sections of the policy that the applies after an entry changed. */
export async function listPolicyChangedSince(sql: ReadSql, seq: number): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct jsonb_object_keys(audit_json(payload) -> 'policy') as name
      from audit
     where ${ofConfiguration(sql)}
       and type = 'config.applied'
       and seq > ${seq}
     order by name`;
  return rows.map(({ name }) => name);
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

import { ANSWER_LIFE_MS, keyDigits } from "../domain/access/idempotency.ts";
import { walletOf } from "../domain/accounts.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { afterTrade, NOTHING_HELD } from "../domain/market/holding.ts";
import {
  type Clarification,
  type Market,
  type Need,
  positionKey,
  SINGLE,
  type StoredAnswer,
  type Table,
  type Tables,
  type Tenant,
} from "../engine/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { isOfKind, ownerOf } from "./account-sql.ts";
import type { TableCodec } from "./codec.ts";
import { loadPlanApprovals, loadStakes, loadWaiting } from "./load-approvals.ts";
import { marketsWithKey } from "./market-names.ts";
import { lastFreeze, listApiKeys, loadRevocations, loadTenantRecord, loadTraders } from "./standing.ts";
import { TABLES } from "./tables.ts";

/** A loaded row; null if it does not exist. */
export interface Loaded {
  table: Table;
  key: string;
  row: Tables[Table] | null;
}

/**
 * Reads the rows that commands need, one query per table. No snapshot is needed: a commit is accepted only on the head that
 * the caller expects, so nothing can have changed in between.
 * @param isSealed whether an entry counts; required for rows that the audit log states: keys, users, sessions and the tenant
 */
export async function loadRows(sql: ReadSql, needs: Need[], isSealed: IsSealed = unchecked): Promise<Loaded[]> {
  const keysByTable = new Map<Table, Set<string>>();
  for (const { table, key } of needs) {
    const keys = keysByTable.get(table);
    if (keys) keys.add(key);
    else keysByTable.set(table, new Set([key]));
  }
  const parts = await Promise.all(
    [...keysByTable].map(async ([table, keySet]): Promise<Loaded[]> => {
      const keys = [...keySet];
      if (table === "holders") return loadHolders(sql, keys);
      if (table === "holderFees") return loadHolderFees(sql, keys);
      if (table === "holderDebts") return loadHolderDebts(sql, keys);
      if (table === "portfolio") return loadPortfolios(sql, keys);
      const rows = await LOADERS[table](sql, keys, isSealed);
      return keys.map((key) => ({ table, key, row: rows.get(key) ?? null }));
    }),
  );
  return parts.flat();
}

/** Refuses to read rows stated by audit entries without checking the seals of these entries. */
function unchecked(): never {
  throw new Error("Rows stated by audit entries need a check of their seals, and none was given");
}

type Loader<T extends Table> = (sql: ReadSql, keys: string[], isSealed: IsSealed) => Promise<Map<string, Tables[T]>>;

const LOADERS: { [T in Exclude<Table, "holders" | "holderFees" | "holderDebts" | "portfolio">]: Loader<T> } = {
  tenant: loadTenant,
  account: byKey(TABLES.account),
  market: byKey(TABLES.market),
  marketKey: loadByFileKey,
  marketState: byKey(TABLES.marketState),
  marketEnd: byKey(TABLES.marketEnd),
  clarification: neverLoaded,
  clarifications: loadClarifications,
  watch: byKey(TABLES.watch),
  trader: loadTraders,
  revocation: loadRevocations,
  keyring: single(listApiKeys),
  receipt: byKey(TABLES.receipt),
  payment: byKey(TABLES.payment),
  storedAnswer: loadAnswers,
  withdrawal: byKey(TABLES.withdrawal),
  proposal: byKey(TABLES.proposal),
  waitingProposal: loadWaiting,
  objection: byKey(TABLES.objection),
  stake: loadStakes,
  planApproval: neverLoaded,
  planApprovals: loadPlanApprovals,
  inboundDelivery: byKey(TABLES.inboundDelivery),
  consoleSession: byKey(TABLES.consoleSession),
  assessment: neverLoaded,
  position: neverLoaded,
  positionFee: neverLoaded,
  apiKey: neverLoaded,
  tenantRecord: single(loadTenantRecord),
  freeze: single(async (sql, isSealed) => ({ until: (await lastFreeze(sql, isSealed))?.until ?? null })),
};

/**
 * Positions load with portfolios or as holders, fees as those of holders, keys with the keyring, clarifications by
 * market, assessments never.
 */
function neverLoaded(): never {
  throw new Error("This table is not read by key");
}

/** The loader of a table of one row. */
function single<T extends Table>(load: (sql: ReadSql, isSealed: IsSealed) => Promise<Tables[T]>): Loader<T> {
  return async (sql, _, isSealed) => new Map([[SINGLE, await load(sql, isSealed)]]);
}

function byKey<Row>(codec: TableCodec<Row>) {
  return (sql: ReadSql, keys: string[]) => loadByKey(sql, codec, keys);
}

/** Rows by the keys that needs name. */
export async function loadByKey<Row>(sql: ReadSql, codec: TableCodec<Row>, keys: string[]): Promise<Map<string, Row>> {
  const rows = await sql`
    select ${sql.unsafe(`${codec.selected()} from ${codec.name}`)}
     where ${keyIn(sql, codec.key, keys)}`;
  return new Map(rows.map((stored) => codec.decode(stored)).map((row) => [codec.keyOf(row), row]));
}

/** Whether a row's key is among these. A key of two parts is "a\nb", whose first part never contains a newline. */
function keyIn(sql: ReadSql, [first = "", second]: readonly string[], keys: string[]) {
  if (second === undefined) return sql`${sql.unsafe(first)} = any(${textArray(keys)}::text[])`;
  const firsts = textArray(keys.map((key) => key.slice(0, key.indexOf("\n"))));
  const seconds = textArray(keys.map((key) => key.slice(key.indexOf("\n") + 1)));
  return sql`(${sql.unsafe(`${first}, ${second}`)}) in (select * from unnest(${firsts}::text[], ${seconds}::text[]))`;
}

/**
 * Stored answers to requests with a key. If a trade's answer is missing, an answer without a seal is returned:
 * otherwise deleting the answer would make a repeat trade again.
 */
async function loadAnswers(sql: ReadSql, keys: string[]): Promise<Map<string, StoredAnswer>> {
  const requests = keys.map((each) => {
    const [caller = "", key = ""] = each.split("\n", 2);
    return { caller, key, digits: keyDigits({ caller, key }) };
  });
  const column = (field: "caller" | "key" | "digits") => textArray(requests.map((each) => each[field]));
  const rows = await sql`
    select asked.caller, asked.key, '' as request_hash, 0::smallint as status, '' as body, trade.ts as created_at, '' as seal
      from unnest(${column("caller")}::text[], ${column("key")}::text[], ${column("digits")}::text[]) as asked (caller, key, digits)
     cross join (select ${nowMs(sql)} - age as at from unnest(array[0, ${ANSWER_LIFE_MS}::bigint]) as age) as day
      join trade on trade.id = 'trd_' || lpad(to_hex(day.at / ${ANSWER_LIFE_MS}::bigint), 4, '0') || asked.digits
     where trade.ts > ${nowMs(sql)} - ${ANSWER_LIFE_MS}::bigint
    union all
    select ${sql.unsafe(TABLES.storedAnswer.selected())}
      from stored_answer
     where ${keyIn(sql, TABLES.storedAnswer.key, keys)}`;
  const answers = rows
    .map((stored) => TABLES.storedAnswer.decode(stored))
    .sort((a, b) => Number(a.seal !== "") - Number(b.seal !== ""));
  // A stored answer takes precedence over the placeholder.
  return new Map(answers.map((row) => [TABLES.storedAnswer.keyOf(row), row]));
}

async function loadTenant(sql: ReadSql): Promise<Map<string, Tenant>> {
  const rows = await sql`select ${sql.unsafe(TABLES.tenant.selected())} from tenant`;
  return new Map(rows.map((stored) => [SINGLE, TABLES.tenant.decode(stored)]));
}

async function loadByFileKey(sql: ReadSql, keys: string[]): Promise<Map<string, Market>> {
  const rows = await sql`
    select wanted.key as wanted, ${sql.unsafe(TABLES.market.selected("m"))}
      from unnest(${textArray(keys)}::text[]) as wanted (key)
      join market m on m.id = any(${marketsWithKey(sql, sql`wanted.key`)})`;
  return new Map(rows.map((stored) => [String(stored.wanted), TABLES.market.decode(stored)]));
}

async function loadClarifications(sql: ReadSql, marketIds: string[]): Promise<Map<string, Clarification[]>> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.clarification.selected())}
      from clarification
     where market_id = any(${textArray(marketIds)}::text[])
     order by position`;
  return Map.groupBy(
    rows.map((stored) => TABLES.clarification.decode(stored)),
    ({ marketId }) => marketId,
  );
}

/** A portfolio for each requested trader, and its positions. */
async function loadPortfolios(sql: ReadSql, traderIds: string[]): Promise<Loaded[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.position.selected("p"))}
      from position p
      join book b on b.market_id = p.market_id
     where p.trader_id = any(${textArray(traderIds)}::text[])
       and b.status <> 'settled'`;
  const positions = rows.map((stored) => TABLES.position.decode(stored));
  const exposures = new Map(traderIds.map((id) => [id, 0n]));
  for (const { traderId, costMicro } of positions) exposures.set(traderId, (exposures.get(traderId) ?? 0n) + costMicro);
  return [
    ...[...exposures].map(([key, exposureMicro]): Loaded => ({ table: "portfolio", key, row: { exposureMicro } })),
    ...positions.map(
      (row): Loaded => ({ table: "position", key: positionKey(row.traderId, row.marketId, row.side), row }),
    ),
  ];
}

/** The positions of markets, including closed ones, and the wallets of their holders, which an end pays. */
async function loadHolders(sql: ReadSql, marketIds: string[]): Promise<Loaded[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.position.selected())}
      from position
     where market_id = any(${textArray(marketIds)}::text[])
     order by trader_id, side`;
  const positions = rows.map((stored) => TABLES.position.decode(stored));
  const wallets = [...new Set(positions.map(({ traderId }) => walletOf(traderId)))];
  const accounts = await loadByKey(sql, TABLES.account, wallets);
  return [
    ...marketIds.map(
      (key): Loaded => ({ table: "holders", key, row: positions.filter(({ marketId }) => marketId === key) }),
    ),
    ...wallets.map((key): Loaded => ({ table: "account", key, row: accounts.get(key) ?? null })),
  ];
}

/** The fees within the cost of each open position of the markets, from its trades. */
async function loadHolderFees(sql: ReadSql, marketIds: string[]): Promise<Loaded[]> {
  const rows = await sql`
    select t.market_id, t.trader_id, t.side, t.shares_micro, t.fee_micro
      from position p
      join trade t on t.trader_id = p.trader_id and t.market_id = p.market_id and t.side = p.side
     where p.market_id = any(${textArray(marketIds)}::text[])
       and p.shares_micro > 0
     order by t.seq`;
  const held = new Map<string, typeof NOTHING_HELD>();
  for (const { market_id, trader_id, side, ...row } of rows) {
    const [key, sharesMicro] = [positionKey(trader_id, market_id, side), BigInt(row.shares_micro)];
    const isSale = sharesMicro < 0n;
    const traded = { isSale, sharesMicro: isSale ? -sharesMicro : sharesMicro, feeMicro: BigInt(row.fee_micro) };
    held.set(key, afterTrade(held.get(key) ?? NOTHING_HELD, { ...traded, amountMicro: 0n }));
  }
  return [
    ...marketIds.map((key): Loaded => ({ table: "holderFees", key, row: null })),
    ...[...held].map(([key, { feeMicro }]): Loaded => ({ table: "positionFee", key, row: { feeMicro } })),
  ];
}

/** The fees within the cost of all open positions of a market. */
export async function sumHolderFees(sql: ReadSql, marketId: string): Promise<bigint> {
  const rows = await loadHolderFees(sql, [marketId]);
  return rows.reduce((sum, { row }) => sum + (row && "feeMicro" in row ? row.feeMicro : 0n), 0n);
}

/** What the holders of positions in the markets owe; few owe anything. */
async function loadHolderDebts(sql: ReadSql, marketIds: string[]): Promise<Loaded[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.account.selected("a"))}
      from account a
     where ${isOfKind(sql, "receivable", "a.id")}
       and ${ownerOf(sql, "receivable", "a.id")} in (select trader_id from position where market_id = any(${textArray(marketIds)}::text[]))`;
  return [
    ...marketIds.map((key): Loaded => ({ table: "holderDebts", key, row: null })),
    ...rows.map((stored): Loaded => {
      const row = TABLES.account.decode(stored);
      return { table: "account", key: row.id, row };
    }),
  ];
}

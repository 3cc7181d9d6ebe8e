import { CAPITAL } from "../../domain/accounts.ts";
import type { MarketKind, Side, StoredStatus } from "../../domain/market/market.ts";
import type { WithdrawalStatus } from "../../engine/rows.ts";
import { bigint, integer, named, nullable, rowReader, text, whole } from "../../ledger/codec.ts";
import { textArray } from "../../postgres/arrays.ts";
import type { ReadSql, Row } from "../../postgres/connect.ts";
import { PRICED, pricedColumns } from "../priced.ts";

const PAGE = 5000;

/** The rows of a statement page by page, so that a table of any length is read in the same memory. */
async function* paged<Read>(
  statement: { cursor(rows: number): AsyncIterable<Row[]> },
  read: (row: Row) => Read,
): AsyncGenerator<Read[]> {
  for await (const rows of statement.cursor(PAGE)) yield rows.map(read);
}

const toBalance = rowReader({ id: text(), balanceMicro: bigint() });

/** Every account as its row has it. */
export function pageAccounts(sql: ReadSql) {
  return paged(sql`select id, balance_micro from account`, toBalance);
}

/**
 * Every account as the transfers up to an entry add up.
 * @param capitalTo up to where transfers of capital count, which stand at the first entry of their apply
 */
export function pageMoved(sql: ReadSql, { to, capitalTo }: { to: bigint; capitalTo: bigint }) {
  // By pair of accounts first: far fewer rows then have to be split into their two legs.
  return paged(
    sql`
      with pair as (
        select debit, credit, sum(amount_micro) as amount
          from transfer
         where seq <= ${String(to)}::bigint or (seq <= ${String(capitalTo)}::bigint and debit = ${CAPITAL})
         group by debit, credit
      )
      select account as id, sum(leg.amount)::text as balance_micro
        from pair
       cross join lateral (values (debit, -amount), (credit, amount)) as leg (account, amount)
       group by account`,
    toBalance,
  );
}

/**
 * The last entry of the apply that wrote an entry; the entry itself where none did.
 * @param types of what an apply writes before its last entry
 */
export async function findEndOfApply(sql: ReadSql, seq: bigint, types: Iterable<string>): Promise<bigint> {
  const among = sql`(select unnest(${textArray([...types])}::text[]))`;
  const [row] = await sql<{ seq: string }[]>`
    select applied.seq
      from audit asked
     cross join lateral (
             select seq, ts from audit where type = 'config.applied' and seq > asked.seq order by seq limit 1
           ) applied
     where asked.seq = ${String(seq)}
       and applied.ts = asked.ts
       and not exists (
             select 1 from audit e where e.seq >= asked.seq and e.seq < applied.seq and e.type not in ${among}
           )`;
  return row ? BigInt(row.seq) : seq;
}

const toPosition = rowReader({
  traderId: text(),
  marketId: text(),
  side: text<Side>(),
  sharesMicro: bigint(),
  costMicro: bigint(),
});

/** Every position as its row has it. */
export function pagePositions(sql: ReadSql) {
  return paged(sql`select trader_id, market_id, side, shares_micro, cost_micro from position`, toPosition);
}

/** Every position as the trades up to an entry add up. */
export function pageTradedPositions(sql: ReadSql, to: bigint) {
  return paged(
    sql`
      select trader_id, market_id, side,
             sum(shares_micro)::text as shares_micro,
             sum(coalesce(-released_micro, amount_micro))::text as cost_micro
        from trade
       where seq <= ${String(to)}::bigint
       group by trader_id, market_id, side`,
    toPosition,
  );
}

const toTraded = rowReader({ id: named("market_id", text()), volumeMicro: bigint(), yesPricePpm: whole() });

/** What was traded in each market up to an entry, and the price that the last trade left. */
export function pageTradedMarkets(sql: ReadSql, to: bigint) {
  return paged(
    sql`
      select traded.market_id, traded.volume_micro, last.yes_price_ppm
        from (
          select market_id, sum(amount_micro)::text as volume_micro, max(seq) as last_seq
            from trade
           where seq <= ${String(to)}::bigint
           group by market_id
        ) traded
        join trade last on last.seq = traded.last_seq`,
    toTraded,
  );
}

const toTrade = rowReader({ id: text(), feeMicro: bigint(), yesPricePpm: integer(), ts: whole() });

/**
 * The trades of some entries, both ends included. Older versions wrote a trade's own time, which was its entry's but for a
 * clock that had stepped back: a time within five minutes counts as the entry's.
 */
export function pageTrades(sql: ReadSql, from: bigint, to: bigint) {
  return paged(
    sql`
      select t.id, t.fee_micro, t.yes_price_ppm,
             case when abs(t.ts - entry.ts) <= 300000 then entry.ts else t.ts end as ts
        from trade t
        left join audit a on a.seq = t.seq
       cross join lateral (select round(extract(epoch from a.ts::timestamptz) * 1000)::bigint as ts) entry
       where t.seq between ${String(from)}::bigint and ${String(to)}::bigint`,
    toTrade,
  );
}

const toWithdrawal = rowReader({
  id: text(),
  traderId: text(),
  amountMicro: bigint(),
  status: text<WithdrawalStatus>(),
});

/** Every withdrawal as its row has it. */
export function pageWithdrawals(sql: ReadSql) {
  return paged(sql`select id, trader_id, amount_micro, status from withdrawal`, toWithdrawal);
}

const toMarket = rowReader({
  id: text(),
  closeAt: whole(),
  ...PRICED,
  kind: text<MarketKind>(),
  status: text<StoredStatus>(),
  volumeMicro: bigint(),
  question: text(),
  outcome: nullable(text<Side>()),
  yesPricePpm: integer(),
});

/** Every market with its state. One that lacks either row is left out, and so is missing. */
export function pageMarkets(sql: ReadSql) {
  return paged(
    sql`
      select m.id, m.close_at, ${pricedColumns(sql)}, b.status, b.volume_micro,
             m.question, b.outcome, b.yes_price_ppm
        from market m
        join book b on b.market_id = m.id`,
    toMarket,
  );
}

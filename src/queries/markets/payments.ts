import { type Outcome, paidPpm } from "../../domain/market/outcome.ts";
import { bigint, integer, json, named, nullable, rowReader } from "../../ledger/codec.ts";
import type { ReadSql } from "../../postgres/connect.ts";

const toPayments = rowReader({
  payouts: integer(),
  paidMicro: named("paid", bigint()),
  /** What the open positions cost, fees included. */
  costMicro: named("cost", bigint()),
  /** The trader who is paid most, both sides together, the first by id among equals; the amount as text. */
  largest: nullable(json<{ traderId: string; paid: string }>()),
});

/**
 * What an end of the market would pay its positions: the sums of what `payoutOf` says of each. The database adds up
 * 100,000 positions in the time in which it would send a few thousand.
 */
export async function sumPayments(
  sql: ReadSql,
  marketId: string,
  outcome: Outcome,
): Promise<ReturnType<typeof toPayments>> {
  // Whole shares and the rest apart: their product with a price does not overflow.
  const paid =
    outcome === "void" ? sql`cost_micro` : sql`shares_micro / 1000000 * ppm + shares_micro % 1000000 * ppm / 1000000`;
  const [yesPpm, noPpm] = outcome === "void" ? [0, 0] : [paidPpm("yes", outcome), paidPpm("no", outcome)];
  const isOfBoth = outcome !== "yes" && outcome !== "no";
  const users = isOfBoth ? sql`(select trader_id, sum(paid) as paid from payment group by trader_id)` : sql`payment`;
  const [row] = await sql`
    with payment as (
      select trader_id, cost_micro, ${paid} as paid
        from (select *, case side when 'yes' then ${yesPpm}::int4 else ${noPpm}::int4 end as ppm
                from position
               where market_id = ${marketId}
                 and shares_micro > 0) held
    )
    select (count(*) filter (where paid > 0))::int4 as payouts, coalesce(sum(paid), 0)::text as paid,
           coalesce(sum(cost_micro), 0)::text as cost,
           (select json_build_object('traderId', trader_id, 'paid', paid::text)
              from ${users} each
             where paid > 0
             order by paid desc, trader_id
             limit 1)::text as largest
      from payment`;
  return toPayments(row ?? {});
}

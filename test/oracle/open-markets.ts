import type { Sql } from "../../src/postgres/connect.ts";

/** Puts many open markets that close in a year straight into the tables, by turns on each of the feeds. */
export async function openMarkets(sql: Sql, count: number, feeds: readonly string[]): Promise<void> {
  await sql`
    insert into market (id, question, category, kind, p0_ppm, fund_micro, close_at, resolution_ref, meta, created_at,
                        house_yes_micro, house_no_micro, terms)
    select 'many_' || n, 'Many?', 'many', 'cpmm', 500000, 1000000, at.ms, feed.key || ' > 1', '{}', 0, 0, 0,
           '{"comparator":">","feed":"' || feed.key || '","feedSha256":"","instant":"2096-01-01T00:00:00.000Z",'
             || '"rule":{"kind":"last"},"strike":"1","upperStrike":null}'
      from generate_series(1, ${count}) as n
     cross join lateral (select ((extract(epoch from now()) + 31536000) * 1000)::bigint + n as ms) at
     cross join lateral (select (${JSON.stringify(feeds)}::text::jsonb) ->> (n % ${feeds.length}) as key) feed`;
  await sql`
    insert into book (market_id, status, yes_micro, no_micro, volume_micro, version, closing_recorded, hour, hour_volume_micro,
                      hour_fee_micro, yes_price_ppm)
    select id, 'open', 1000000, 1000000, 0, 1, false, 0, 0, 0, 0 from market where id like 'many_%'`;
  await sql`
    insert into oracle_watch (market_id, instant_at, parsed, settled, version)
    select id, close_at, true, false, 1 from market where id like 'many_%'`;
  await sql`analyze`;
}

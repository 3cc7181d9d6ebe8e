import type { ReadSql } from "../postgres/connect.ts";

/**
 * Trades by trader, market and day, as a table: `day`, `trader_id`, `market_id`, `volume_micro`, `trades`,
 * `realized_micro`. The last day of each side of a market is in the position, earlier days in their own table, so a day
 * has up to three rows.
 */
export function traderDays(sql: ReadSql) {
  return sql`(
    select day, trader_id, market_id, volume_micro, trades, realized_micro from trader_day
     union all
    select day, trader_id, market_id, day_volume_micro, day_trades, day_realized_micro from position where day > 0
  )`;
}

/**
 * Trades by market and hour, as a table: `market_id`, `hour`, `volume_micro`, `yes_price_ppm`, `fee_micro`. The last
 * hour of each market is in its book, earlier hours in their own table.
 */
export function marketHours(sql: ReadSql) {
  return sql`(
    select market_id, hour, volume_micro, yes_price_ppm, fee_micro from market_hour
     union all
    select market_id, hour, hour_volume_micro, yes_price_ppm, hour_fee_micro from book where hour > 0
  )`;
}

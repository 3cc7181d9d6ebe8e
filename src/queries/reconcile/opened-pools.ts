import { openPool } from "../../domain/market/market.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { Unexplained } from "./unexplained.ts";

const PAGE = 1000;

/**
 * Markets whose house shares are not those that their terms give. What the pool holds follows from them, the trades and
 * the escrow, so a pool that was moved shows here.
 */
export async function findWrongPools(sql: ReadSql): Promise<Unexplained[]> {
  const wrong: Unexplained[] = [];
  const pages = sql`select id, kind, p0_ppm, fund_micro, house_yes_micro, house_no_micro from market order by id`;
  await pages.cursor(PAGE, (markets) => {
    for (const { id, kind, p0_ppm, fund_micro, house_yes_micro, house_no_micro } of markets) {
      const fundMicro = BigInt(fund_micro);
      const { yesMicro, noMicro } = openPool({ kind, fundMicro, p0Ppm: p0_ppm });
      const same = BigInt(house_yes_micro) === fundMicro - yesMicro && BigInt(house_no_micro) === fundMicro - noMicro;
      if (!same) wrong.push({ table: "market", place: id });
    }
  });
  return wrong;
}

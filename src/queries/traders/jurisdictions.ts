import type { ReadSql } from "../../postgres/connect.ts";

/** How many users have passed their identity check without a jurisdiction in it. */
export async function countVerifiedWithoutJurisdiction(sql: ReadSql): Promise<number> {
  const [row] = await sql<{ users: number }[]>`
    select count(*)::int4 as users
      from trader
     where kyc = 'verified'
       and jurisdiction is null`;
  return row?.users ?? 0;
}

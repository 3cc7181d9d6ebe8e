import { placeOf } from "../../domain/policy/jurisdictions.ts";
import type { ReadSql } from "../../postgres/connect.ts";

/** How many users have passed their identity check without a place in it that is known. */
export async function countVerifiedOfUnknownPlace(sql: ReadSql): Promise<number> {
  const places = await sql<{ jurisdiction: string | null; users: number }[]>`
    select jurisdiction, count(*)::int4 as users
      from trader
     where kyc = 'verified'
     group by jurisdiction`;
  const unknown = places.filter(({ jurisdiction }) => jurisdiction === null || placeOf(jurisdiction) === undefined);
  return unknown.reduce((sum, { users }) => sum + users, 0);
}

import { nullable, rowReader, text } from "../../ledger/codec.ts";
import type { ReadSql } from "../../postgres/connect.ts";

const toValue = rowReader({ price: nullable(text()) });

/** The feed's value that settled a market, a decimal; undefined where a person or the tenant's own oracle decided without one. */
export async function findFinalValue(sql: ReadSql, marketId: string): Promise<string | undefined> {
  const [row] = await sql`
    select audit_json(payload) ->> 'price' as price
      from audit
     where type = 'oracle.resolved'
       and audit_json(payload) ->> 'marketId' = ${marketId}
     limit 1`;
  return row === undefined ? undefined : (toValue(row).price ?? undefined);
}

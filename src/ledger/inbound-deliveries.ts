import { deliveryKey, type InboundDelivery } from "../engine/rows.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { byKey, columns } from "./load.ts";

/** The columns of the commit statement, in the order of the cells. */
export const DELIVERY_COLUMNS =
  "provider text, sha256 text, event text, reference text, user_id text, outcome text, body text, received_at bigint";

/** What the commit statement writes of an inbound delivery. */
export function deliveryCells(d: InboundDelivery) {
  return [d.provider, d.sha256, d.event, d.reference, d.userId, d.outcome, d.body, d.receivedAt];
}

/** Deliveries by `deliveryKey(provider, sha256)`. */
export async function loadInboundDeliveries(sql: ReadSql, keys: string[]): Promise<Map<string, InboundDelivery>> {
  const [providers, hashes] = columns(keys);
  const rows = await sql`
    select provider, sha256, event, reference, user_id, outcome, body, received_at
      from inbound_delivery
     where (provider, sha256) in (select * from unnest(${providers}::text[], ${hashes}::text[]))`;
  return byKey(
    rows.map((row) => ({
      provider: row.provider as string,
      sha256: row.sha256 as string,
      event: row.event as string,
      reference: row.reference as string | null,
      userId: row.user_id as string | null,
      outcome: row.outcome as string,
      body: row.body as string | null,
      receivedAt: Number(row.received_at),
    })),
    ({ provider, sha256 }) => deliveryKey(provider, sha256),
  );
}

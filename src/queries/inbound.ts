import { nullable, rowReader, text, whole } from "../ledger/codec.ts";
import type { ReadSql } from "../postgres/connect.ts";

const toInbound = rowReader({
  provider: text(),
  sha256: text(),
  event: text(),
  reference: nullable(text()),
  userId: nullable(text()),
  outcome: text(),
  receivedAt: whole(),
});
export type InboundRow = ReturnType<typeof toInbound>;

export interface InboundQuery {
  provider?: string | undefined;
  /** Only webhooks after this one, in the list's order. */
  after?: Pick<InboundRow, "receivedAt" | "provider" | "sha256"> | undefined;
  limit: number;
}

/** The accepted webhooks of providers, newest first, without their bodies. */
export async function listInbound(sql: ReadSql, { provider, after, limit }: InboundQuery): Promise<InboundRow[]> {
  const rows = await sql`
    select provider, sha256, event, reference, user_id, outcome, received_at
      from inbound_delivery
     where true
       ${provider === undefined ? sql`` : sql`and provider = ${provider}`}
       ${after === undefined ? sql`` : sql`and (received_at, provider, sha256) < (${after.receivedAt}::bigint, ${after.provider}, ${after.sha256})`}
     order by received_at desc, provider desc, sha256 desc
     limit ${limit}`;
  return rows.map(toInbound);
}

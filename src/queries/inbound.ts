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

const inboundColumns = (sql: ReadSql) => sql`provider, sha256, event, reference, user_id, outcome, received_at`;

export interface InboundQuery {
  provider?: string | undefined;
  /** Only webhooks after this one, in the list's order. */
  after?: Pick<InboundRow, "receivedAt" | "provider" | "sha256"> | undefined;
  limit: number;
}

/** The accepted webhooks of providers, newest first, without their bodies. */
export async function listInbound(sql: ReadSql, { provider, after, limit }: InboundQuery): Promise<InboundRow[]> {
  const rows = await sql`
    select ${inboundColumns(sql)}
      from inbound_delivery
     where true
       ${provider === undefined ? sql`` : sql`and provider = ${provider}`}
       ${after === undefined ? sql`` : sql`and (received_at, provider, sha256) < (${after.receivedAt}::bigint, ${after.provider}, ${after.sha256})`}
     order by received_at desc, provider desc, sha256 desc
     limit ${limit}`;
  return rows.map(toInbound);
}

/** One accepted webhook with its body, which is null unless it was kept; undefined for an unknown one. */
export async function findInbound(
  sql: ReadSql,
  { provider, sha256 }: Pick<InboundRow, "provider" | "sha256">,
): Promise<(InboundRow & { body: string | null }) | undefined> {
  const [row] = await sql`
    select ${inboundColumns(sql)}, body from inbound_delivery where provider = ${provider} and sha256 = ${sha256}`;
  return row && { ...toInbound(row), body: row.body };
}

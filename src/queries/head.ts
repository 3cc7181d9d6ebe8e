import { bigint, rowReader, text } from "../ledger/codec.ts";
import type { Head } from "../ledger/commit.ts";
import type { ReadSql } from "../postgres/connect.ts";

const toHead = rowReader({ seq: bigint(), hash: text(), epoch: bigint() });

/** Where the log ends, and the database's clock in milliseconds: what tells whether an answer in memory still holds. */
export async function readHead(sql: ReadSql): Promise<{ head: Pick<Head, "seq" | "hash" | "epoch">; now: number }> {
  const [row] = await sql`
    select seq, hash, epoch, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
      from head
     where id = 1`;
  // While the row is missing no process can commit, so its absence is as good as a head.
  return row ? { head: toHead(row), now: row.now } : { head: { seq: -1n, hash: "", epoch: 0n }, now: 0 };
}

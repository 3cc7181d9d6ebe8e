import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { ReadSql } from "../../../src/postgres/connect.ts";
import type { Report } from "../report.ts";
import type { Stage } from "../stage.ts";

/** How long a backup takes, and how large it is. */
export async function backupSize({ directory }: Stage, report: Report): Promise<void> {
  const program = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
  const startedAt = performance.now();
  const { stdout } = await execa(process.execPath, [program, "db", "backup", "-o", "json"], { cwd: directory });
  const seconds = (performance.now() - startedAt) / 1000;
  const { bytes, count } = JSON.parse(stdout) as { bytes: number; count: number };
  report.note(`backup: ${seconds.toFixed(1)} s for ${count} entries, ${(bytes / count).toFixed(1)} bytes each`);
}

interface TableSize {
  name: string;
  rows: number;
  heap: number;
  indexes: number;
}

const SHOWN = 12;

/** Bytes on disk of the largest tables, and by trade: what a plan for more of them is calculated with. */
export async function diskSizes(stage: Stage, report: Report): Promise<void> {
  await stage.withServices(async ({ checks }) => {
    const trades = await checks.read(
      async (sql) => (await sql<{ count: number }[]>`select count(*)::int from trade`)[0]?.count ?? 0,
    );
    const sizes = await checks.read(tableSizes);
    const perTrade = (bytes: number) => (bytes / trades).toFixed(1).padStart(7);
    report.note(`bytes per trade, at ${trades} trades:   rows indexes`);
    for (const { name, rows, heap, indexes } of sizes.slice(0, SHOWN))
      report.note(`${name.padEnd(30)} ${perTrade(heap)} ${perTrade(indexes)}   ${rows} rows`);
    const sum = (of: (size: TableSize) => number) => sizes.reduce((total, size) => total + of(size), 0);
    report.note(
      `${"all tables".padEnd(30)} ${perTrade(sum(({ heap }) => heap))} ${perTrade(sum(({ indexes }) => indexes))}`,
    );
    for (const { name, bytes } of await checks.read(indexSizes))
      report.note(`  index ${name.padEnd(32)} ${perTrade(bytes)}`);
  });
}

function tableSizes(sql: ReadSql): PromiseLike<TableSize[]> {
  return sql<TableSize[]>`
    select relname as name, n_live_tup::float8 as rows,
           pg_table_size(relid)::float8 as heap, pg_indexes_size(relid)::float8 as indexes
      from pg_stat_user_tables
     order by pg_total_relation_size(relid) desc`;
}

function indexSizes(sql: ReadSql): PromiseLike<{ name: string; bytes: number }[]> {
  return sql<{ name: string; bytes: number }[]>`
    select relname as name, pg_relation_size(oid)::float8 as bytes
      from pg_class
     where relkind = 'i' and relnamespace = 'public'::regnamespace
     order by 2 desc
     limit ${SHOWN}`;
}

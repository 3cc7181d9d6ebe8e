import { withClient } from "../../src/postgres/connect.ts";
import { bucketCounts } from "./figures.ts";
import { type LoadResult, runLoad } from "./load.ts";
import { cpuTimes } from "./processes.ts";
import type { Report } from "./report.ts";
import type { BenchServer, Stage } from "./stage.ts";

export interface Measured extends LoadResult {
  /** Microseconds per request; undefined on a machine that does not tell. */
  cpu: { server: number; postgres: number } | undefined;
}

export interface Run {
  name: string;
  connections: number;
  seconds: number;
  requests: readonly Buffer[];
}

/** Loads servers at the same time, with an equal part of the connections each, prints what came of it, and returns it. */
export async function measure(
  stage: Stage,
  report: Report,
  servers: readonly Pick<BenchServer, "port" | "pid">[],
  { name, connections, ...load }: Run,
): Promise<Measured> {
  const pids = servers.map(({ pid }) => pid);
  const before = cpuTimes(pids, stage.directory);
  const share = { ...load, connections: connections / servers.length };
  const results = await Promise.all(servers.map(({ port }) => runLoad(port, share)));
  const after = cpuTimes(pids, stage.directory);
  const sum = (of: (result: LoadResult) => number) => results.reduce((total, result) => total + of(result), 0);
  const requests = sum((result) => result.requests);
  const measured: Measured = {
    requests,
    perSecond: sum((result) => result.perSecond),
    failed: sum((result) => result.failed),
    p50: Math.max(...results.map(({ p50 }) => p50)),
    p99: Math.max(...results.map(({ p99 }) => p99)),
    cpu: before &&
      after && {
        server: (after.server - before.server) / requests,
        postgres: (after.postgres - before.postgres) / requests,
      },
  };
  report.note(`${name.padEnd(34)} ${describe(measured)}`);
  if (measured.failed > 0) report.trouble(`${name}: ${measured.failed} requests were not answered with 2xx`);
  return measured;
}

function describe({ perSecond, p50, p99, cpu }: Measured): string {
  const rate = `${Math.round(perSecond)}/s`.padStart(8);
  const latency = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
  if (!cpu) return `${rate}  ${latency}, CPU not available (no /proc)`;
  return `${rate}  ${latency}, CPU per request: server ${cpu.server.toFixed(1)} us, PostgreSQL ${cpu.postgres.toFixed(1)} us`;
}

/** Runs a load and prints how many commands the server's commits had meanwhile, and what they wrote ahead. */
export async function withBatches(
  stage: Stage,
  { opsUrl }: BenchServer,
  report: Report,
  work: () => Promise<Measured>,
): Promise<Measured> {
  const read = async () => {
    const answer = await fetch(`${opsUrl}/metrics`);
    return bucketCounts(await answer.text(), "pmctl_sequencer_batch_commands");
  };
  const before = await read();
  const wroteBefore = await writtenSoFar(stage);
  const measured = await work();
  const wrote = await writtenSoFar(stage);
  const histogram = [...(await read())]
    .map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .map(([bound, count]) => `${bound}: ${count}`);
  report.note(`${"".padEnd(34)} commits of up to n commands: ${histogram.join(", ")}`);
  const [wal, transactions] = [wrote.walBytes - wroteBefore.walBytes, wrote.transactions - wroteBefore.transactions];
  report.note(
    `${"".padEnd(34)} WAL ${Math.round(wal / measured.requests)} bytes per trade, ${transactions} transaction ids`,
  );
  return measured;
}

/** Of the whole cluster. */
async function writtenSoFar({ cluster }: Stage): Promise<{ walBytes: number; transactions: number }> {
  const own = { name: "bench", max: 1 };
  const [row] = await withClient(
    cluster.connection("bench"),
    own,
    (sql) => sql<{ walBytes: number; transactions: number }[]>`
      select (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 as "walBytes",
             pg_snapshot_xmax(pg_current_snapshot())::text::float8 as transactions`,
  );
  if (!row) throw new Error("The database tells how much it has written");
  return row;
}

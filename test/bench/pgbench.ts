import { existsSync, readdirSync } from "node:fs";
import { execa } from "execa";
import postgres from "postgres";
import type { Cluster } from "../../src/postgres/embedded/cluster.ts";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import type { Report } from "./report.ts";

export interface PgbenchResult {
  perSecond: number;
  /** Of one transaction, milliseconds on average. */
  latencyMs: number;
}

/** The yardstick: TPC-B-like transactions. */
export interface Pgbench {
  run(clients: number, seconds: number): Promise<PgbenchResult>;
}

const SCALE = 10;
const prepared = new WeakMap<Cluster, Promise<Pgbench>>();

/**
 * The real pgbench where the machine has one, else the same five statements over the driver. Its database is made on
 * first use, in the cluster that the tenant is in.
 */
export function benchPgbench(cluster: Cluster, report: Report): Promise<Pgbench> {
  const made = prepared.get(cluster) ?? prepare(cluster, report);
  prepared.set(cluster, made);
  return made;
}

async function prepare(cluster: Cluster, report: Report): Promise<Pgbench> {
  await cluster.createDatabase("pgbench");
  const connection = cluster.connection("pgbench");
  const program = findPgbench();
  const name = program ? "pgbench tpcb-like -M prepared" : "own tpcb-like (no pgbench here)";
  const own = program ? await realPgbench(program, connection) : await ownTpcb(connection);
  return {
    async run(clients, seconds) {
      const perSecond = await own(clients, seconds);
      const latencyMs = (clients * 1000) / perSecond;
      report.note(
        `${`${name}, ${clients}`.padEnd(34)} ${`${Math.round(perSecond)}/s`.padStart(8)}  ${latencyMs.toFixed(2)} ms`,
      );
      return { perSecond, latencyMs };
    },
  };
}

function findPgbench(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const places = existsSync(debian) ? readdirSync(debian).map((version) => `${debian}/${version}/bin/pgbench`) : [];
  return [...places, "/usr/bin/pgbench", "/usr/local/bin/pgbench"].find((path) => existsSync(path));
}

/** Transactions per second. */
type Tpcb = (clients: number, seconds: number) => Promise<number>;

async function realPgbench(program: string, { host, port, user, database }: ClusterConnection): Promise<Tpcb> {
  const target = ["-h", host, "-p", String(port), "-U", user, database];
  await execa(program, ["-i", "-q", "-s", String(SCALE), ...target]);
  return async (clients, seconds) => {
    const threads = Math.min(clients, 2);
    const size = ["-c", String(clients), "-j", String(threads), "-T", String(Math.ceil(seconds))];
    const { stdout } = await execa(program, ["-n", "-b", "tpcb-like", "-M", "prepared", ...size, ...target]);
    return Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
  };
}

async function ownTpcb(connection: ClusterConnection): Promise<Tpcb> {
  const sql = postgres({ ...connection, max: 1, onnotice: () => {} });
  await sql.unsafe(`
    create table if not exists bench_account (id int primary key, balance bigint) with (fillfactor = 70);
    create table if not exists bench_branch (id int primary key, balance bigint) with (fillfactor = 10);
    create table if not exists bench_history (account int, delta int, at timestamptz default now());
    truncate bench_account, bench_branch, bench_history;
    insert into bench_account select i, 0 from generate_series(1, ${SCALE * 100_000}) i;
    insert into bench_branch select i, 0 from generate_series(1, ${SCALE * 11}) i;
    analyze bench_account, bench_branch`);
  await sql.end({ timeout: 5 });
  const random = (below: number) => 1 + Math.floor(Math.random() * below);
  return async (clients, seconds) => {
    const pool = postgres({ ...connection, max: clients, onnotice: () => {} });
    let transactions = 0;
    const startedAt = performance.now();
    const runClient = async () => {
      while (performance.now() < startedAt + seconds * 1000) {
        const [account, branch, delta] = [random(SCALE * 100_000), random(SCALE), random(5000)];
        await pool.begin(async (tx) => {
          await tx`update bench_account set balance = balance + ${delta} where id = ${account}`;
          await tx`select balance from bench_account where id = ${account}`;
          await tx`update bench_branch set balance = balance + ${delta} where id = ${SCALE + random(SCALE * 10)}`;
          await tx`update bench_branch set balance = balance + ${delta} where id = ${branch}`;
          await tx`insert into bench_history (account, delta) values (${account}, ${delta})`;
        });
        transactions += 1;
      }
    };
    await Promise.all(Array.from({ length: clients }, runClient));
    const perSecond = transactions / ((performance.now() - startedAt) / 1000);
    await pool.end({ timeout: 5 });
    return perSecond;
  };
}

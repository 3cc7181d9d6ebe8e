import { existsSync, readdirSync } from "node:fs";
import { execa } from "execa";
import postgres from "postgres";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";

const CLIENTS = [8, 16, 32];

export interface Baseline {
  name: string;
  perSecond: number;
  clients: number;
}

/**
 * The yardstick: TPC-B-like transactions per second at the best client count, by the real pgbench where the machine has
 * one, else by the same five statements over the driver.
 */
export async function tpcbLike(connection: ClusterConnection, seconds: number): Promise<Baseline> {
  const program = findPgbench();
  const results: Baseline[] = [];
  if (program) {
    const target = ["-h", connection.host, "-p", String(connection.port), "-U", connection.user, connection.database];
    await execa(program, ["-i", "-q", "-s", "10", ...target]);
    for (const clients of CLIENTS) {
      const timing = ["-b", "tpcb-like", "-M", "prepared", "-c", String(clients), "-j", "2", "-T", String(seconds)];
      const { stdout } = await execa(program, [...timing, ...target]);
      const perSecond = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
      results.push({ name: "pgbench tpcb-like -M prepared", perSecond, clients });
    }
  } else {
    for (const clients of CLIENTS) results.push(await ownTpcb(connection, clients, seconds));
  }
  return results.reduce((best, each) => (each.perSecond > best.perSecond ? each : best));
}

function findPgbench(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const places = existsSync(debian) ? readdirSync(debian).map((version) => `${debian}/${version}/bin/pgbench`) : [];
  return [...places, "/usr/bin/pgbench", "/usr/local/bin/pgbench"].find((path) => existsSync(path));
}

async function ownTpcb(connection: ClusterConnection, clients: number, seconds: number): Promise<Baseline> {
  const sql = postgres({ ...connection, max: clients, onnotice: () => {} });
  await sql.unsafe(`
    create table if not exists bench_account (id int primary key, balance bigint) with (fillfactor = 70);
    create table if not exists bench_branch (id int primary key, balance bigint) with (fillfactor = 10);
    create table if not exists bench_history (account int, delta int, at timestamptz default now());
    truncate bench_account, bench_branch, bench_history;
    insert into bench_account select i, 0 from generate_series(1, 1000000) i;
    insert into bench_branch select i, 0 from generate_series(1, 110) i;
    analyze bench_account, bench_branch`);
  let transactions = 0;
  const endsAt = performance.now() + seconds * 1000;
  const random = (below: number) => 1 + Math.floor(Math.random() * below);
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < endsAt) {
        const [account, branch, delta] = [random(1_000_000), random(10), random(5000)];
        await sql.begin(async (tx) => {
          await tx`update bench_account set balance = balance + ${delta} where id = ${account}`;
          await tx`select balance from bench_account where id = ${account}`;
          await tx`update bench_branch set balance = balance + ${delta} where id = ${10 + random(100)}`;
          await tx`update bench_branch set balance = balance + ${delta} where id = ${branch}`;
          await tx`insert into bench_history (account, delta) values (${account}, ${delta})`;
        });
        transactions += 1;
      }
    }),
  );
  await sql.end({ timeout: 5 });
  return { name: "own tpcb-like (no pgbench here)", perSecond: transactions / seconds, clients };
}

/**
 * Proves that a failover loses nothing: `npm run ha [-- --rounds 50 --seed N --only switchover,"primary killed" --logs DIR]`.
 *
 * The cluster is three members of etcd, two nodes of PostgreSQL under Patroni in strict synchronous mode, and HAProxy, all on
 * this machine. Each node has its own network namespace where root can make one. One tenant has two servers: one knows both
 * nodes by name, the other knows HAProxy's address. Clients trade at both, half of them with idempotency keys.
 *
 * Each round breaks something (faults.ts), in an order drawn from the seed. Five rounds in ten require a synchronous standby
 * in the tenant file. After each round `judge.ts` checks that every acknowledged trade is there once, that no refused trade is
 * there, that ledger and chain are exact, and that readiness is true. Both servers must trade again without a restart, within
 * 5 s of the first commit that is on both nodes.
 *
 * `--logs DIR` keeps the cluster's logs, and the servers' logs of rounds that fail. A round takes half a minute. The program
 * needs etcd, Patroni, HAProxy and PostgreSQL as Debian installs them, and ends with 1 when a check fails.
 */
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Random } from "../model/random.ts";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { FAULTS, type Fault } from "./faults.ts";
import { judge } from "./judge.ts";
import { Load, type Order } from "./load.ts";
import { findPrograms } from "./programs.ts";
import { Report } from "./report.ts";
import { openTenant } from "./tenant.ts";

/** What a server may take to acknowledge a change once there is a primary again. */
const PROMISED_MS = 5000;
const FIRST_TRADE_WAIT_MS = 60_000;
/** Trading before the fault, and after the cluster is whole again. */
const QUIET_MS = 1000;
/** Rounds between two restarts of the servers, by which the requirement of a standby comes and goes. */
const ROUNDS_A_BLOCK = 5;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    seed: { type: "string" },
    only: { type: "string" },
    logs: { type: "string" },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const random = new Random(seed);
const report = new Report();
let operator: Operator | undefined;
let cluster: Cluster | undefined;

const close = async () => {
  await operator?.close();
  await cluster?.close();
};

const programs = await findPrograms().catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => void close().finally(() => process.exit(130)));
try {
  console.log(`seed ${seed}: ${rounds} rounds`);
  cluster = await openCluster(programs);
  operator = await newOperator({ cluster: "none" });
  await appendFile(join(operator.directory, ".env"), `ACME_DATABASE_URL=${cluster.urlOfHosts("acme")}\n`);
  await writeFile(join(operator.directory, "pmctl.yaml"), withoutTls(cluster));
  const marketIds = await openTenant(operator);
  await run(operator, cluster, marketIds, chooseFaults(cluster));
} catch (error) {
  report.add(`the run broke off: ${error instanceof Error ? error.stack : error}`);
} finally {
  if (values.logs !== undefined) await cluster?.keepLogs(values.logs).catch((error) => report.add(String(error)));
  await close();
}
console.log(report.text());
process.exit(report.isClean ? 0 : 1);

/** The operator's file: the password may reach both nodes without TLS, which they do not offer. */
function withoutTls({ nodes }: Cluster): string {
  const hosts = nodes.map(({ place }) => `${place}?sslmode=disable`);
  return JSON.stringify({ version: 1, secrets: { destinations: { "env ACME_DATABASE_URL": hosts } } });
}

/** Each fault as often as any other, in random order. */
function chooseFaults(there: Cluster): Fault[] {
  const names = values.only?.split(",");
  const wanted = FAULTS.filter(({ name }) => names?.includes(name) ?? true);
  const possible = wanted.filter(({ name, impossible }) => {
    const reason = impossible?.(there);
    if (reason !== undefined) console.log(`${name}: left out, ${reason}`);
    return reason === undefined;
  });
  if (possible.length === 0) throw new Error(`No such fault. There are: ${FAULTS.map(({ name }) => name).join(", ")}`);
  const chosen: Fault[] = [];
  while (chosen.length < rounds)
    chosen.push(
      ...possible
        .map((fault) => ({ fault, place: random.next() }))
        .toSorted((a, b) => a.place - b.place)
        .map(({ fault }) => fault),
    );
  return chosen.slice(0, rounds);
}

/** The first knows both nodes, the second HAProxy. */
async function startServers({ serve }: Operator, there: Cluster): Promise<ServerProcess[]> {
  const servers: ServerProcess[] = [];
  for (const url of [there.urlOfHosts("acme"), there.urlOfBalancer("acme")]) {
    process.env.ACME_DATABASE_URL = url;
    servers.push(await serve("acme"));
  }
  delete process.env.ACME_DATABASE_URL;
  return servers;
}

async function run(
  here: Operator,
  there: Cluster,
  marketIds: readonly string[],
  faults: readonly Fault[],
): Promise<void> {
  const secrets = await here.secrets();
  const orders: Order[] = [];
  let servers: ServerProcess[] = [];
  let required = 0;
  for (const [index, fault] of faults.entries()) {
    if (index % ROUNDS_A_BLOCK === 0) {
      for (const server of servers) report.addExit(await server.kill("SIGTERM"));
      required = (index / ROUNDS_A_BLOCK) % 2;
      const now = required;
      await here.edit("acme", (text) =>
        text.replace(
          /database: \{.*\}\n/,
          `database: { url: { env: ACME_DATABASE_URL }, require: { synchronousStandbys: ${now} } }\n`,
        ),
      );
      await there.whole();
      servers = await startServers(here, there);
    }
    const load = await Load.start(String(index), { secrets, marketIds, targets: servers, random });
    await delay(QUIET_MS);
    const scene = { cluster: there, ...(await there.whole()) };
    const began = performance.now();
    const at = await fault.run(scene);
    const firstMs = await load.firstAfter(at, FIRST_TRADE_WAIT_MS);
    await there.whole();
    const gapMs = load.longestGapMs(began);
    await delay(QUIET_MS);
    await load.stop();
    orders.push(...load.orders);
    const findings = [...load.findings, ...(await judge({ cluster: there, operator: here, servers, orders }))];
    for (const [server, ms] of firstMs.entries())
      if (ms === undefined || ms > PROMISED_MS)
        findings.push(`server ${server} acknowledged its first trade after ${ms ?? "more than a minute, in"} ms`);
    if (findings.length > 0 && values.logs !== undefined)
      for (const [server, { errors }] of servers.entries())
        await writeFile(join(values.logs, `round-${index + 1}-server-${server}.log`), errors());
    report.addRound({
      fault: fault.name,
      required,
      awayMs: at - began,
      firstMs,
      gapMs,
      slowestMs: load.slowestMs,
      codes: load.codes,
      findings,
    });
  }
  for (const server of servers) report.addExit(await server.kill("SIGTERM"));
  report.addOrders(orders);
}

/**
 * Counts the connections of servers that come back to one database at one moment: `npm run ha:storm [-- --servers 50]`.
 *
 * So many servers of a tenant, each with a login of its own by which the database tells their sessions apart, and a primary that
 * waits for a standby. A client trades at each, with idempotency keys. All servers start at one moment; the database is killed and
 * starts again; all its sessions are terminated; the standby is frozen for a while; all servers are killed and start again. The
 * sessions of each server are counted every 20 ms, those that wait for a standby and have been left among them. At the end every
 * acknowledged trade must be there once, and ledger and chain must be exact.
 *
 * It takes about 100 MB of memory a server. It ends with 1 where a server had more sessions than its tenant file allows.
 */
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Random } from "../model/random.ts";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { openPair, type Pair, type Replica } from "../support/replica.ts";
import { withServer } from "../support/tenant-text.ts";
import { checkBooks, compareTrades } from "./judge.ts";
import { Load } from "./load.ts";
import { openTenant } from "./tenant.ts";

/** As many as a server has unless its tenant file says otherwise. */
const ALLOWED = 16;
const SAMPLE_MS = 20;
/** Between two new trades at one server. */
const PACE_MS = 4000;
/** How long each storm is watched. */
const WATCH_MS = 15_000;
/** Long enough for several attempts of whatever tries again. */
const FROZEN_MS = 50_000;
const SETTLE_MS = 5000;
const SESSIONS = `
  select usename as login, count(*)::int4 as sessions, (count(*) filter (where wait_event = 'SyncRep'))::int4 as waiting
    from pg_stat_activity
   where backend_type = 'client backend' and (usename is null or usename like 'server%')
   group by usename`;

const { values } = parseArgs({ options: { servers: { type: "string", default: "50" } } });
const count = Number(values.servers);
const logins = Array.from({ length: count }, (_, index) => `server_${index}`);
const problems: string[] = [];
const modules = await mkdtemp("/tmp/pmctl-storm-");
// Without it two processors compile the same sources so many times.
process.env.NODE_COMPILE_CACHE = modules;
const pair = await openPair();
const operator = await newOperator({ cluster: "none" });
const close = async () => {
  await operator.close();
  await pair.close();
  await rm(modules, { recursive: true });
};
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => void close().finally(() => process.exit(130)));
try {
  await run(pair, operator);
} catch (error) {
  problems.push(`it broke off: ${error instanceof Error ? error.stack : error}`);
} finally {
  await close();
}
for (const problem of problems) console.log(`FOUND ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);

async function run({ primary, standby, url }: Pair, here: Operator): Promise<void> {
  // The standby first: it follows no primary that has more.
  for (const server of [standby, primary]) {
    await server.ask(`alter system set max_connections = ${count * ALLOWED * 2 + 50}`);
    await server.kill("SIGINT");
    await server.start();
  }
  for (const login of logins) await primary.ask(`create role ${login} superuser login`);
  await appendFile(join(here.directory, ".env"), `ACME_DATABASE_URL=${url("acme")}\n`);
  const marketIds = await openTenant(here);
  await here.edit("acme", (text) => withServer(text, "memoryMb: 128"));
  const start = (login: string) => {
    process.env.ACME_DATABASE_URL = url("acme").replace("//admin@", `//${login}@`);
    // The environment is read before the first await.
    return here.serve("acme");
  };
  const servers: ServerProcess[] = [];
  const startAll = async () => {
    const started = await Promise.all(logins.map(start));
    servers.splice(0, count, ...started);
  };
  console.log(
    "| storm | most of one server | most of all | most that waited for the standby | counted |\n|---|---|---|---|---|",
  );
  await watched("all servers start", primary, startAll);
  const world = { secrets: await here.secrets(), marketIds, targets: servers, random: new Random(1) };
  const load = await Load.start("storm", { ...world, paceMs: PACE_MS, mayVanish: true });
  await delay(SETTLE_MS);
  const storms: Record<string, () => Promise<unknown>> = {
    "the database is killed and starts": () => primary.kill("SIGKILL").then(primary.start),
    "all sessions are terminated": () =>
      primary.ask("select pg_terminate_backend(pid) from pg_stat_activity where usename like 'server%'"),
    "the standby is frozen": () =>
      standby
        .freeze()
        .then(() => delay(FROZEN_MS))
        .then(standby.thaw),
    "all servers are killed and start": () =>
      Promise.all(servers.map((server) => server.kill("SIGKILL"))).then(startAll),
  };
  for (const [name, storm] of Object.entries(storms)) await watched(name, primary, storm);
  await load.stop();
  for (const server of servers) await server.kill("SIGTERM");
  problems.push(...load.findings, ...(await compareTrades(primary, load.orders)), ...(await checkBooks(here)));
  const trades = load.orders.filter(({ outcome }) => outcome === "acknowledged").length;
  console.log(`storm: ${count} servers, ${trades} acknowledged trades: ${problems.length} findings`);
}

/** Counts while the storm lasts and for a while behind it. */
async function watched(name: string, primary: Replica, storm: () => Promise<unknown>): Promise<void> {
  const most = { server: 0, all: 0, waiting: 0 };
  let samples = 0;
  let hasEnded = false;
  const counting = (async () => {
    while (!hasEnded) {
      const rows = await primary.ask(SESSIONS).catch(() => undefined);
      await delay(SAMPLE_MS);
      // The database is away.
      if (!rows) continue;
      samples += 1;
      const sum = (of: "sessions" | "waiting") => rows.reduce((all, row) => all + Number(row[of]), 0);
      most.server = Math.max(
        most.server,
        ...rows.map(({ login, sessions }) => (login === null ? 0 : Number(sessions))),
      );
      most.all = Math.max(most.all, sum("sessions"));
      most.waiting = Math.max(most.waiting, sum("waiting"));
    }
  })();
  await storm();
  await delay(WATCH_MS);
  hasEnded = true;
  await counting;
  console.log(`| ${name} | ${most.server} | ${most.all} | ${most.waiting} | ${samples} times |`);
  if (most.server > ALLOWED) problems.push(`${name}: a server had ${most.server} sessions`);
}

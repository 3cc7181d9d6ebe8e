/**
 * Measures what other clients see during an attack: `npm run siege [-- seconds connections]`.
 *
 * The attack: 10,000 connections from 50 addresses, 200 of each, which is below every limit of connections. They open at
 * 2,000 a second. An eighth of them does each of these: stays silent, sends headers byte by byte, sends a body byte by byte,
 * reads no answer, reads no stream of events, asks without end, sends rubbish, breaks off a TLS handshake (to another server
 * of the same process). A closed connection is replaced 2 s later, which makes about 1,500 new connections a second.
 *
 * The clients: 50 that keep their connection, 50 that open one for each request, and a probe of `/livez`. Each client has its
 * own address and sends a request every 0.8 s. Every answer must be 200, and 99 of 100 requests of each kind must be answered
 * within 250 ms, connecting included, while the hostile connections open and afterwards. Clients are measured in their own
 * process. The attackers run at the lowest priority, because real ones would not use this machine's processors.
 *
 * The figures mean little while other programs use the processors: compare the load, and the row "without an attack". The
 * program needs Linux, where all of 127.0.0.0/8 is this machine, and a descriptor limit of 17,000.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg } from "node:os";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { measure, prepare, startAttack, startServer } from "./arena.ts";
import type { Kind } from "./attack.ts";

const seconds = Number(process.argv[2] ?? 40);
const connections = Number(process.argv[3] ?? 10_000);
const [addresses, clients, perMinute, perSecond] = [50, 50, 100, 2000];
const KINDS: Kind[] = [
  "silent",
  "slowHeaders",
  "slowBody",
  "slowReader",
  "unreadStream",
  "flood",
  "malformed",
  "handshake",
];
const P99_MS = 250;
/** What a process takes to start. */
const STARTING_SECONDS = 1;

const directory = await mkdtemp("/tmp/pmctl-siege-");
// Open to others, because root's server runs as another user and would otherwise keep its files in /var/lib.
await chmod(directory, 0o755);
const cluster = embeddedCluster(directory);
let held = false;
try {
  await cluster.start();
  const connection = cluster.connection("bench");
  await prepare(connection);
  const server = await startServer({ connection, perMinute });
  const { ports } = server;
  console.log("load average of the machine", loadavg());
  await server.usage();
  console.log("without an attack", await measure({ ports, clients, seconds: 5 }), await server.usage());
  const [attack, opening] = await Promise.all([
    startAttack({ ports, connections, addresses, perSecond, kinds: KINDS }),
    measure({ ports, clients, seconds: connections / perSecond + STARTING_SECONDS }),
  ]);
  console.log(`while ${connections} connections from ${addresses} addresses opened`, opening, await server.usage());
  const measured = await measure({ ports, clients, seconds });
  console.log("then", measured, await server.usage());
  console.log("the attack", await attack.stop(), "load average", loadavg());
  await server.stop();
  const all = [...Object.values(opening), ...Object.values(measured)];
  held = all.every(({ p99, failures }) => p99 < P99_MS && Object.keys(failures).length === 0);
  console.log(held ? "held" : "FELL");
} finally {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = held ? 0 : 1;

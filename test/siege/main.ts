/**
 * 10,000 hostile connections of all kinds from 50 addresses, renewed as soon as they are closed, while other clients go on:
 * 99 of 100 of their requests must be answered within 250 ms, and all of them. Needs Linux, where the whole of 127.0.0.0/8
 * is this machine, and a descriptor limit of 17,000.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg } from "node:os";
import { embeddedCluster } from "../../src/store/embedded/cluster.ts";
import { measure, prepare, startAttack, startServer } from "./arena.ts";

const seconds = Number(process.argv[2] ?? 40);
const connections = Number(process.argv[3] ?? 10_000);
const [addresses, clients, perMinute, perSecond] = [50, 50, 100, 2000];
const P99_MS = 250;

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
  const attack = await startAttack({
    ports,
    connections,
    addresses,
    perSecond,
    kinds: ["silent", "slowHeaders", "slowBody", "slowReader", "unreadStream", "flood", "malformed", "handshake"],
  });
  console.log("the server while the hostile connections opened", await server.usage());
  const measured = await measure({ ports, clients, seconds });
  console.log(`during ${connections} hostile connections from ${addresses} addresses`, measured);
  console.log("the server", await server.usage());
  console.log("the attack", await attack.stop(), "load average", loadavg());
  await server.stop();
  held = Object.values(measured).every(({ p99, failures }) => p99 < P99_MS && Object.keys(failures).length === 0);
  console.log(held ? "held" : "FELL");
} finally {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = held ? 0 : 1;

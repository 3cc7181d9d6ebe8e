/**
 * 10,000 hostile connections of all kinds from 50 addresses, renewed as soon as they are closed, while other clients go on:
 * 99 of 100 of their requests must be answered within 250 ms, and all of them. Needs Linux, where the whole of 127.0.0.0/8
 * is this machine, and a descriptor limit of 17,000.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { embeddedCluster } from "../../src/store/embedded/cluster.ts";
import { prepare, startAttack, startServer } from "./arena.ts";
import { beClients, beProbe } from "./clients.ts";

const seconds = Number(process.argv[2] ?? 40);
const connections = Number(process.argv[3] ?? 10_000);
const [addresses, clients, perMinute, perSecond] = [50, 100, 100, 2000];
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
  console.log("without an attack", await beClients(ports, clients, 5));
  const attack = await startAttack({
    ports,
    connections,
    addresses,
    perSecond,
    kinds: ["silent", "slowHeaders", "slowBody", "slowReader", "unreadStream", "flood", "malformed", "handshake"],
  });
  const [served, probed] = await Promise.all([beClients(ports, clients, seconds), beProbe(ports, seconds)]);
  console.log(`during ${connections} hostile connections from ${addresses} addresses`, served);
  console.log("livez", probed);
  console.log("hostile connections opened", await attack.stop());
  console.log("the server", await server.stop());
  held = [served, probed].every(({ p99, failures }) => p99 < P99_MS && Object.keys(failures).length === 0);
  console.log(held ? "held" : "FELL");
} finally {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = held ? 0 : 1;

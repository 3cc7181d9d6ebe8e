/**
 * Speed as ratios within one run on one machine: durable trades over HTTP against pgbench, the engine against a raw
 * replay of its statements, reads against a bare handler, verification against a bare HMAC loop, reconciliation against
 * one plain aggregate. Absolute figures of a shared machine mean little.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { provision } from "../../src/services/tenant/provision.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { checkRatio, reconcileRatio, verifyRatio } from "./ledger.ts";
import { tpcbLike } from "./pgbench.ts";
import { AUDIT_SECRET, benchState, createMarkets, fundTraders } from "./scene.ts";
import { httpTrades, marketReads } from "./server-load.ts";

const seconds = Number(process.argv[2] ?? 8);

const directory = await mkdtemp("/tmp/pmctl-speed-");
// Open to others, because root's server runs as somebody else and would otherwise keep its files in /var/lib.
await chmod(directory, 0o755);
const cluster = embeddedCluster(directory);
let held = true;
try {
  await cluster.start();
  await cluster.createDatabase("pgbench");
  const connection = cluster.connection("bench");
  await provision({
    tenantId: "bench",
    connection,
    auditSecret: AUDIT_SECRET,
    actor: "cli:bench",
    config: benchState(),
  });
  const services = await openTenant({ tenantId: "bench", connection, auditSecret: AUDIT_SECRET });
  const markets = await createMarkets(services);
  await fundTraders(services);

  const baseline = await tpcbLike(cluster.connection("pgbench"), seconds);
  console.log(`${baseline.name}: ${Math.round(baseline.perSecond)}/s at ${baseline.clients} clients`);
  const trades = await httpTrades(connection, markets, seconds);
  held = checkRatio("trades over HTTP / pgbench", trades / baseline.perSecond, 2.5) && held;
  const reads = await marketReads(connection, markets, seconds);
  held = checkRatio("market reads / bare h3", reads.read / reads.bare, 0) && held;

  held = checkRatio("verification / bare HMAC loop", await verifyRatio(services), 0.55) && held;
  held = checkRatio("reconciliation / plain aggregate", await services.checks.read(reconcileRatio), 0.4) && held;
  const checks = await services.checks.read(reconcileLedger);
  const off = checks.filter(({ differenceMicro }) => differenceMicro !== 0n);
  console.log(off.length === 0 ? "ledger: discrepancy 0" : `LEDGER: ${JSON.stringify(off.map(({ name }) => name))}`);
  held = off.length === 0 && held;
  await services.close();
} finally {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = held ? 0 : 1;

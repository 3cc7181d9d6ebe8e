/** How long a sweep takes over 10,000 open markets on 41 feeds when nothing is due: `node test/bench/oracle.ts`. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { feedCatalogue } from "../../src/domain/feeds/feed.ts";
import { newMemory, type OracleContext } from "../../src/oracle/context.ts";
import { sourceSet } from "../../src/oracle/sources.ts";
import { sweep } from "../../src/oracle/sweep.ts";
import { OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";
import { connect } from "../../src/postgres/connect.ts";
import { readClock } from "../../src/postgres/database-time.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { provision } from "../../src/services/tenant/provision.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { openMarkets } from "../oracle/open-markets.ts";
import { AUDIT_SECRET, benchState } from "./scene.ts";

const MARKETS = 10_000;
const SWEEPS = 50;
const GOAL_MS = 200;

const directory = await mkdtemp("/tmp/pmctl-oracle-");
await chmod(directory, 0o755);
const cluster = embeddedCluster(directory);
try {
  await cluster.start();
  const connection = cluster.connection("oracle");
  const tenant = { tenantId: "oracle", connection, auditSecret: AUDIT_SECRET };
  await provision({ ...tenant, actor: "cli:bench", config: benchState() });
  const owner = connect(connection, { name: "owner", max: 1 });
  await openMarkets(owner, MARKETS, [...feedCatalogue().keys()]);
  await owner.end({ timeout: 5 });
  const services = await openTenant(tenant);
  const http = new OutgoingHttp();
  const now = () => services.pool.read(readClock);
  const sources = sourceSet().ready;
  const memory = newMemory();
  const context: OracleContext = { services, http, now, sources, memory, resolutionSecrets: [], sweepMs: 30_000 };
  const times: number[] = [];
  for (let round = 0; round < SWEEPS; round++) {
    const startedAt = performance.now();
    const { watched } = await sweep(context);
    times.push(performance.now() - startedAt);
    if (watched !== 0) throw new Error("nothing was to be due");
  }
  times.sort((a, b) => a - b);
  const slowest = times.at(-1) ?? Number.NaN;
  console.log(
    `sweep over ${MARKETS} markets: median ${times[SWEEPS >> 1]?.toFixed(1)} ms, slowest ${slowest.toFixed(1)} ms`,
  );
  process.exitCode = slowest < GOAL_MS ? 0 : 1;
  await http.close();
  await services.close();
} finally {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
}

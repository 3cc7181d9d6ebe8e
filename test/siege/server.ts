/** The server under siege, in a process of its own with a descriptor limit of its own. Talks to its parent over IPC. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import pino from "pino";
import { startServer } from "../../src/server/server.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET, JWT_SECRET } from "../bench/scene.ts";
import { makePair } from "../support/certificates.ts";
import type { ServerTerms, Usage } from "./arena.ts";

const { connection, perMinute, limits } = JSON.parse(process.argv[2] ?? "") as ServerTerms;
const services = await openTenant({ tenantId: "bench", connection, auditSecret: AUDIT_SECRET });
const refused: Record<string, number> = {};
const options = {
  tenantId: "bench",
  services,
  pool: services.pool,
  jwt: { algorithm: "HS256", secret: JWT_SECRET } as const,
  corsOrigins: [],
  trustProxy: [],
  rateLimit: { perMinute },
  limits,
  isDatabaseUp: services.isDatabaseUp,
  onRefused: (reason: string) => {
    refused[reason] = (refused[reason] ?? 0) + 1;
  },
  log: pino({ level: "error" }, pino.destination(2)),
};
const where = { host: "127.0.0.1", port: 0, opsPort: 0 };
const plain = await startServer(options, where);
const secured = await startServer(options, { ...where, keyPair: await makePair() });
process.send?.({ port: plain.port, opsPort: plain.opsPort, tlsPort: secured.port });

const turns = monitorEventLoopDelay({ resolution: 1 });
turns.enable();
let since = { at: performance.now(), cpu: process.cpuUsage() };
function usage(): Usage {
  const { user, system } = process.cpuUsage(since.cpu);
  const cpuPercent = Math.round((user + system) / 10 / (performance.now() - since.at));
  const ms = (nanoseconds: number) => Math.round(nanoseconds / 1e6);
  const delay = { p50: ms(turns.percentile(50)), p99: ms(turns.percentile(99)), max: ms(turns.max) };
  turns.reset();
  since = { at: performance.now(), cpu: process.cpuUsage() };
  return { cpuPercent, delay, rssMiB: Math.round(process.memoryUsage().rss / 1024 ** 2), refused: { ...refused } };
}

process.on("message", async (what) => {
  if (what === "usage") return void process.send?.(usage());
  await Promise.all([plain.close(), secured.close()]);
  await services.close();
  process.send?.(usage());
  process.disconnect();
});

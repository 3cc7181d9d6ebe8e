/** The server under load, in a process of its own as in production. Talks to its parent over IPC. */
import pino from "pino";
import type { Connection } from "../../src/postgres/connect.ts";
import { Metrics } from "../../src/server/observe/metrics.ts";
import { startServer } from "../../src/server/server.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET, JWT_SECRET } from "./scene.ts";

const connection = JSON.parse(process.argv[2] ?? "") as Connection;
const batches = new Map<number, number>();
const services = await openTenant({
  tenantId: "bench",
  connection,
  auditSecret: AUDIT_SECRET,
  onError: (error) => console.error(error),
  onCommit: ({ commands }) => {
    const size = 2 ** Math.ceil(Math.log2(commands));
    batches.set(size, (batches.get(size) ?? 0) + 1);
  },
});
const server = await startServer(
  {
    tenantId: "bench",
    services,
    pool: services.pool,
    jwt: { algorithm: "HS256", secret: JWT_SECRET },
    corsOrigins: [],
    trustProxy: [],
    rateLimit: { perMinute: 1_000_000_000 },
    isDatabaseUp: services.isDatabaseUp,
    metrics: new Metrics(),
    log: pino({ level: "error" }, pino.destination(2)),
  },
  { host: "127.0.0.1", port: 0, opsPort: 0 },
);
process.send?.({ port: server.port });
process.on("message", async () => {
  await server.close();
  await services.close();
  const { rss } = process.memoryUsage();
  process.send?.({ batches: [...batches].sort(([a], [b]) => a - b), rss });
  process.disconnect();
});

/** The server under siege, in a process of its own with a descriptor limit of its own. Talks to its parent over IPC. */
import pino from "pino";
import { startServer } from "../../src/server/server.ts";
import { openTenant } from "../../src/services/tenant.ts";
import { AUDIT_SECRET, JWT_SECRET } from "../bench/scene.ts";
import { makePair } from "../support/certificates.ts";
import type { ServerTerms } from "./arena.ts";

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
process.on("message", async () => {
  await Promise.all([plain.close(), secured.close()]);
  await services.close();
  process.send?.({ refused, rss: process.memoryUsage().rss });
  process.disconnect();
});

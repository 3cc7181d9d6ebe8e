/**
 * Serves the tenant of a directory as `pmctl serve` does, with the same heap, in a process of its own. Only the limit of
 * requests is lifted, because all of them come from one address. Says on stdout where it listens; SIGTERM ends it.
 */
import { once } from "node:events";
import pino from "pino";
import { endStart, heapOptions, limitHeap } from "../../src/app/serve/heap.ts";

const [directory = "", tenant = "", ...flags] = process.argv.slice(2);
limitHeap(() => heapOptions(directory, tenant));
const { serveTenant } = await import("../../src/app/serve/tenant-server.ts");
const { readDeclaredTenant } = await import("../../src/app/tenant/operator-tenant.ts");
const { readyTenant } = await import("../../src/app/tenant/tenant-database.ts");

const ready = await readyTenant(readDeclaredTenant(directory, tenant));
const server = await serveTenant({
  ...ready,
  config: { ...ready.config, rateLimit: { perMinute: 1_000_000_000 } },
  log: pino({ level: "warn" }, pino.destination(2)),
  port: 0,
  opsPort: 0,
  sweep: !flags.includes("--no-sweep"),
});
const stopped = once(process, "SIGTERM");
endStart(server.answered);
console.log(JSON.stringify({ url: server.url, opsUrl: server.opsUrl }));
await stopped;
await server.close();

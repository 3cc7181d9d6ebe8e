import ipaddr from "ipaddr.js";
import { z } from "zod";
import { DEFAULT_SECONDS, DEFAULT_STREAMS } from "../../domain/access/connection-limits.ts";
import { listOf } from "./scalars.ts";

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** A name or an address in the form of `Host`, without its port. */
const HostName = z
  .string()
  .max(253)
  .refine(
    (host) => NAME.test(host) || ipaddr.IPv6.isValid(host.replace(/^\[(.*)\]$/, "$1")),
    "must be a host name such as admin.acme.example, without scheme and port",
  );

/** Names under which admin operations exist. */
export const AdminHosts = listOf(HostName, 100).meta({
  description: "Host names under which admin operations exist; under others they are 404. Empty: any.",
  examples: [["admin.acme.example"]],
});

/** How long a terminating server continues to serve, so that load balancers notice first. */
export const DrainSeconds = z
  .number()
  .int()
  .min(0)
  .max(300)
  .default(0)
  .describe(
    "Seconds from SIGTERM until the server stops listening, while /readyz is 503. Behind a load balancer: longer than its health checks need to notice.",
  );

/** The value that favours speed; more has no benefit. */
export const DEFAULT_MEMORY_MB = 400;

/** Determines the size of V8's young generation, which a server requests when it starts. */
export const MemoryMb = z
  .number()
  .int()
  .min(128)
  .max(65_536)
  .default(DEFAULT_MEMORY_MB)
  .describe(
    "Memory in MiB that a server may use under full load; idle it uses about 90. Less costs more CPU time per trade, more than 400 brings nothing. On a smaller machine it uses half.",
  );

const Connections = z.number().int().min(1).max(1_000_000);
const Streams = z.number().int().min(0).max(1_000_000);
const Seconds = z.number().int().min(1).max(3600);

/** The limits for a server's connections. */
export const ServerLimits = z.strictObject({
  connections: Connections.optional().describe(
    "Largest number of open connections; the default is 60 % of the process's descriptor limit, at most 10,000. Beyond it, the server closes the longest idle connection of the address that has most.",
  ),
  connectionsPerAddress: Connections.optional().describe(
    "Connections of one client address; the default is a fifth of connections, at least 32. Proxies in trustProxy are not limited.",
  ),
  streams: Streams.optional().describe("Largest number of open event streams; the default is half of connections."),
  streamsPerAddress: Streams.default(DEFAULT_STREAMS.streamsPerAddress).describe(
    "The most event streams of one client address.",
  ),
  streamsPerUser: Streams.default(DEFAULT_STREAMS.streamsPerUser).describe("The most event streams of one user."),
  headersSeconds: Seconds.default(DEFAULT_SECONDS.headersSeconds).describe(
    "Seconds for a connection's first request, and for the headers of each request.",
  ),
  bodySeconds: Seconds.default(DEFAULT_SECONDS.bodySeconds).describe("Seconds for a request's body."),
  idleSeconds: Seconds.default(DEFAULT_SECONDS.idleSeconds).describe(
    "Seconds that a connection may wait for its next request.",
  ),
  writeSeconds: Seconds.default(DEFAULT_SECONDS.writeSeconds).describe(
    "How long a client may read nothing of what the server sends, event streams included.",
  ),
});

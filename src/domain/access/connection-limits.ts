/** The limits of a server's connections (`server.limits` of the tenant file). */
export interface ConnectionLimits {
  /** The most open connections. */
  connections: number;
  /** The most open connections of one client address; a trusted proxy does not count as a client. */
  connectionsPerAddress: number;
  /** The most open event streams. */
  streams: number;
  streamsPerAddress: number;
  streamsPerUser: number;
  /** From opening a connection to its first request, and from a request's first byte to the end of its headers. */
  headersSeconds: number;
  /** From a request's headers to the end of its body. */
  bodySeconds: number;
  /** The time between two requests. */
  idleSeconds: number;
  /** How long the peer may leave written bytes unread. */
  writeSeconds: number;
}

export const DEFAULT_STREAMS = { streamsPerAddress: 100, streamsPerUser: 10 } as const;
/**
 * The idle time is longer than the usual 60 s of load balancers: they close idle connections first, so no request meets
 * a closed connection.
 */
export const DEFAULT_SECONDS = { headersSeconds: 10, bodySeconds: 30, idleSeconds: 65, writeSeconds: 20 } as const;

const MOST_CONNECTIONS = 10_000;
/**
 * The clients' share of the descriptors. The database, outgoing requests, files and the operations listener need the
 * rest.
 */
const CLIENTS_SHARE = 0.6;
/** The largest share that a stated number may take: without a free descriptor, neither the database nor `/livez` answers. */
const STATED_SHARE = 0.8;
const ADDRESS_SHARE = 0.2;
const LEAST_PER_ADDRESS = 32;

/**
 * The limits in force: the stated ones, with defaults for the rest.
 * @param descriptors the number of files and sockets that this process may have open
 */
export function connectionLimits(
  stated: { readonly [Limit in keyof ConnectionLimits]?: number | undefined },
  descriptors: number,
): ConnectionLimits {
  const connections =
    stated.connections === undefined
      ? Math.min(MOST_CONNECTIONS, Math.floor(descriptors * CLIENTS_SHARE))
      : Math.min(stated.connections, Math.max(1, Math.floor(descriptors * STATED_SHARE)));
  const defaults: ConnectionLimits = {
    connections,
    connectionsPerAddress: Math.max(LEAST_PER_ADDRESS, Math.floor(connections * ADDRESS_SHARE)),
    streams: Math.floor(connections / 2),
    ...DEFAULT_STREAMS,
    ...DEFAULT_SECONDS,
  };
  const given = Object.entries(stated).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given), connections };
}

import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { connectionLimits, DEFAULT_SECONDS } from "../../domain/access/connection-limits.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import { ClientAddresses } from "../../server/client-address.ts";
import { Connections } from "../../server/connections/connections.ts";
import { descriptorLimit } from "../../server/connections/descriptors.ts";
import { listenOnOneSocket } from "../../server/connections/listening.ts";
import { createOpsListener } from "../../server/observe/ops-listener.ts";
import { opsLimits, urlOf } from "../../server/server.ts";
import { accept } from "../../server/shared-port/acceptor.ts";
import { RESTART_POLICY } from "../serve/supervisor.ts";
import { HouseOps } from "./house-ops.ts";
import type { HouseTerms } from "./messages.ts";
import { Residence } from "./residence.ts";
import { type WorkerOptions, WorkerProcess } from "./worker-process.ts";

export interface HouseOptions {
  directory: string;
  tenants: readonly string[];
  workers: number;
  host: string;
  /** 0 takes a free one, here and below. */
  port: number;
  opsHost: string;
  opsPort: number;
  idleSeconds: number;
  https: boolean;
  /** The most connections to one database server. */
  connections: number;
  /** From the request to end until the port closes; the longest of the tenants' own unless given. */
  drainSeconds?: number | undefined;
  /** How a worker is started, and what is done with its lines. */
  process(worker: number): Omit<WorkerOptions, "directory" | "policy">;
  /** Gets failures that end nothing. */
  onError(error: Error): void;
  /** Gets a line on a tenant that is not served, or is again. */
  onNote(line: string): void;
}

/** Several tenants behind one port. */
export interface House {
  url: string;
  opsUrl: string;
  /** Tells probes that it leaves, and goes on serving for a while. */
  drain(signal: AbortSignal): Promise<void>;
  /** Stops accepting and ends the workers. Resolves to whether all ended by themselves. */
  close(): Promise<boolean>;
}

/** How long a worker may take to end: what its last requests may take, and the closing of its tenants. */
const STOP_MS = 40 * SECOND_MS;
/** Between two rounds of the files that had problems, and between two files of a round. */
const READ_AGAIN_MS = 2 * SECOND_MS;
const BETWEEN_READINGS_MS = 50;

/**
 * Serves tenants by few processes: this one accepts connections and gives each to the worker that serves its host. The
 * workers' number does not change, and a tenant has one worker, so one process at a time writes for it.
 * @throws ConfigError for a host of two tenants, Fault USAGE when a port cannot be had
 */
export async function openHouse(options: HouseOptions): Promise<House> {
  const { directory, host, opsHost, idleSeconds, https } = options;
  const residence = new Residence(directory, options.tenants, options.workers);
  const { configs, residents, problems } = residence;
  const workers: WorkerProcess[] = [];
  const listening = await accept({
    host,
    port: options.port,
    // What names no tenant is refused by any worker.
    onConnection: (socket, head, named) => {
      const { worker = 0, tenant } = residence.residentOf(named) ?? {};
      workers[worker]?.give(socket, head, tenant);
    },
    onError: options.onError,
  });
  const ops = new HouseOps({ residents, problems, workers, scheme: https ? "https" : "http" });
  const descriptors = descriptorLimit();
  const opsConnections = new Connections({
    limits: opsLimits(connectionLimits({}, descriptors), descriptors),
    addresses: new ClientAddresses([]),
    onRefused: () => {},
  });
  const opsServer = createOpsListener((path, query) => ops.answer(path, query), opsConnections);
  const opsListening = await listenOnOneSocket(opsServer, opsHost, options.opsPort).catch(async (error: unknown) => {
    void listening.close();
    throw error;
  });
  opsServer.on("error", options.onError);
  // Closed to other users: what connects to a socket in it is believed on who the client is.
  const sockets = await mkdtemp(join(tmpdir(), "pmctl-house-"));
  await chmod(sockets, 0o700);
  const [url, opsUrl] = [
    urlOf(https ? "https" : "http", host, listening.port),
    urlOf("http", opsHost, opsListening.port),
  ];
  const { address, port } = listening;
  const place = { url, address, port, opsUrl, opsPort: opsListening.port };
  const terms = { kind: "terms", directory, ...place, residents, sockets, seconds: longestSeconds(configs) } as const;
  for (let worker = 0; worker < options.workers; worker += 1) {
    const connections = Math.floor(options.connections / options.workers);
    const own: HouseTerms = { ...terms, worker, idleSeconds, https, connections, suspects: [], apart: [] };
    const policy = { ...RESTART_POLICY, stopMs: STOP_MS };
    workers.push(new WorkerProcess(own, { ...options.process(worker), directory, policy }));
  }
  await Promise.all(workers.map(({ ready }) => ready));
  for (const tenant of problems.keys()) options.onNote(notServed(tenant, residence));
  const closing = new AbortController();
  void takeUpMended(residence, workers, { onNote: options.onNote, signal: closing.signal });
  return {
    url,
    opsUrl,
    async drain(signal) {
      ops.isDraining = true;
      for (const worker of workers) worker.drain();
      const longest = Math.max(0, ...configs.map(({ server }) => server.drainSeconds));
      const ms = (options.drainSeconds ?? longest) * SECOND_MS;
      await delay(ms, undefined, { signal }).catch(() => undefined);
    },
    async close() {
      ops.isDraining = true;
      closing.abort();
      void listening.close();
      const clean = await Promise.all(workers.map(({ supervised }) => supervised.stop()));
      const opsClosed = opsListening.close();
      opsConnections.destroyAll();
      await opsClosed;
      opsServer.close();
      await rm(sockets, { recursive: true, force: true });
      return clean.every(Boolean);
    },
  };
}

/**
 * Reads the files that had problems again and again, and serves each tenant whose file was mended. One after the other, since a
 * reading holds up connections, and all of them because a file's problem may be in another one that it extends.
 */
async function takeUpMended(
  residence: Residence,
  workers: readonly WorkerProcess[],
  { onNote, signal }: Pick<HouseOptions, "onNote"> & { signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    for (const [tenant, before] of [...residence.problems]) {
      const resident = residence.readAgain(tenant);
      if (resident) {
        for (const worker of workers) worker.admit(resident);
        onNote(`${tenant} is served from now on, since its file was mended`);
      } else if (residence.problems.get(tenant) !== before) onNote(notServed(tenant, residence));
      await delay(BETWEEN_READINGS_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    await delay(READ_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

function notServed(tenant: string, { problems }: Residence): string {
  return `${tenant} is not served until its file is mended: ${problems.get(tenant)?.split("\n", 1)[0]}`;
}

function longestSeconds(configs: readonly TenantConfig[]): HouseTerms["seconds"] {
  const longest = (name: keyof HouseTerms["seconds"]) =>
    Math.max(DEFAULT_SECONDS[name], ...configs.map(({ server }) => server.limits[name] ?? 0));
  return {
    headersSeconds: longest("headersSeconds"),
    bodySeconds: longest("bodySeconds"),
    idleSeconds: longest("idleSeconds"),
    writeSeconds: longest("writeSeconds"),
  };
}

import type { IncomingMessage, ServerResponse } from "node:http";
import { hostsOf } from "../../config/hosts.ts";
import { packageVersion } from "../../config/package-version.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { connectionLimits } from "../../domain/access/connection-limits.ts";
import { HostTable, requestedHost } from "../../domain/access/host-names.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import { serverOf } from "../../postgres/database.ts";
import { ConnectionLender } from "../../postgres/lending.ts";
import { isBodyOutstanding } from "../../server/body.ts";
import { ClientAddresses } from "../../server/client-address.ts";
import { type CommandSocket, listenForCommands } from "../../server/command-socket.ts";
import { ConnectionGroup } from "../../server/connections/connection-group.ts";
import { RefusalReport } from "../../server/connections/connection-refusals.ts";
import { Connections } from "../../server/connections/connections.ts";
import { descriptorLimit } from "../../server/connections/descriptors.ts";
import { createListener } from "../../server/connections/listener.ts";
import { listen, listenOnOneSocket, urlOf } from "../../server/connections/listening.ts";
import { consoleUrl } from "../../server/console/listening.ts";
import { sharedBase } from "../../server/console/options.ts";
import { nextRequestId } from "../../server/exchange.ts";
import { unknownHost } from "../../server/front-door.ts";
import { openLog } from "../../server/observe/log.ts";
import { Metrics } from "../../server/observe/metrics.ts";
import { createOpsListener, opsLimits } from "../../server/observe/ops-listener.ts";
import { refusal, securityHead, send } from "../../server/responses.ts";
import { finishRequests } from "../../server/server.ts";
import { repeat, sleepUntilAborted } from "../../services/background/repeat.ts";
import { SERVER_ID } from "../../services/tenant/identifiers.ts";
import { selfSigned } from "../serve/self-signed.ts";
import { Certificates } from "./certificates.ts";
import { DueWork } from "./due-work.ts";
import { doorsOf, type SharedPlace, TenantOpener } from "./open-tenant.ts";
import { OpeningTurns } from "./opening-turns.ts";
import { servesConsoles } from "./shared-consoles.ts";
import { SharedOps } from "./shared-ops.ts";
import { SharedTenant } from "./shared-tenant.ts";
import { TenantFiles } from "./tenant-files.ts";

export interface SharedServerOptions {
  directory: string;
  tenants: readonly string[];
  host: string;
  /** 0 takes a free port, here and below. */
  port: number;
  opsHost: string;
  opsPort: number;
  idleSeconds: number;
  https: boolean;
  /** The most connections to one database server. */
  connections: number;
  /** The time from the request to end until the port closes (default: the longest of the tenants). */
  drainSeconds?: number | undefined;
  /** False where another process runs the oracle's sweep. */
  sweep?: boolean | undefined;
  /** Receives a line when a tenant is not served, or is served again. */
  onNote(line: string): void;
}

/** One process that serves many tenants on one port. */
export interface SharedServer {
  url: string;
  opsUrl: string;
  /** How many requests were answered. */
  answered(): number;
  /** Tells probes that the server is leaving, then serves for a while. */
  drain(signal: AbortSignal): Promise<void>;
  /** Finishes running work and closes every tenant. */
  close(): Promise<void>;
}

const STDERR = 2;
/** Connections that are reserved for due work and the questions about it. */
const RESERVED = 4;
/** The share of the process's file descriptors for one tenant's clients, so that the other tenants keep some. */
const TENANT_SHARE = 0.5;
const ROUND_MS = 10 * SECOND_MS;
const SHORTEST_IDLE_ROUND_MS = 250;
const LONGEST_IDLE_ROUND_MS = 5 * SECOND_MS;
/** The pause between two rounds over the files that had problems, and between two files of a round. */
const READ_AGAIN_MS = 2 * SECOND_MS;
const BETWEEN_READINGS_MS = 50;
/** The certificate's name for clients that ask for no tenant; no tenant can have this name. */
const NO_TENANT = "_";

/**
 * Serves tenants in this process. A tenant is opened by its first request, which is found by host, or for due work.
 * @throws ConfigError for a host of two tenants; Fault USAGE when a port cannot be used
 */
export async function openSharedServer(options: SharedServerOptions): Promise<SharedServer> {
  const { directory, host, opsHost, https, onNote } = options;
  const scheme = https ? "https" : "http";
  const files = new TenantFiles(directory, options.tenants);
  const { configs, problems } = files;
  const log = openLog("", STDERR);
  const metrics = new Metrics();
  const report = new RefusalReport(log);
  const descriptors = descriptorLimit();
  const connections = new Connections({
    limits: { ...connectionLimits({}, descriptors), ...files.longestSeconds() },
    addresses: new ClientAddresses([]),
    onRefused: (reason, address) => {
      metrics.countRefused(reason);
      report.note(reason, address);
    },
  });
  const ended = new AbortController();
  const { signal } = ended;
  const tenants = new Map<string, SharedTenant>();
  let byHost = new HostTable<SharedTenant>([]);
  let isDraining = false;
  let answered = 0;
  const since = new Date(wallClockMs()).toISOString();
  const commandSockets: CommandSocket[] = [];

  const certificates = new Certificates(directory, (name) => byHost.find(name), log);
  const usual = https ? await selfSigned(directory, NO_TENANT, "localhost", wallClockMs()) : undefined;
  const tls = usual && { usual, forName: (name: string) => certificates.forName(name) };
  const server = createListener(answer, connections, tls);
  const onError = (error: Error): void => log.error({ err: error }, "The listener failed");
  const listening = await listen(server, host, options.port, onError);
  server.on("error", onError);

  const lenders = new Map<string, ConnectionLender>();
  const turns = new OpeningTurns();
  const ops = new SharedOps({ tenants, problems, lenders, turns, metrics, isDraining: () => isDraining });
  const opsConnections = new Connections({
    limits: opsLimits(connectionLimits({}, descriptors), descriptors),
    addresses: new ClientAddresses([]),
    onRefused: () => {},
  });
  const opsServer = createOpsListener(
    (path, query) => ops.answer(path, query),
    opsConnections,
    servesConsoles(tenants, (fault, req, res) => refuseWith(fault, req, res, opsConnections)),
  );
  const opsListening = await listenOnOneSocket(opsServer, opsHost, options.opsPort).catch((error: unknown) => {
    void listening.close();
    connections.destroyAll();
    server.close();
    throw error;
  });
  opsServer.on("error", onError);

  const { address, port } = listening;
  const place: SharedPlace = {
    ...{ directory, address, port, opsPort: opsListening.port },
    url: urlOf(scheme, host, port),
    opsUrl: urlOf("http", opsHost, opsListening.port),
    sweep: options.sweep,
    reach: {
      descriptors: descriptors * TENANT_SHARE,
      connect: (terms) => ({ connections, group: new ConnectionGroup(terms) }),
    },
    opsConnections,
    secrets: (...asked) => files.secrets(...asked),
    lenderOf(databaseUrl) {
      // All embedded databases of a directory have one server.
      const name = databaseUrl === undefined ? "embedded" : serverOf({ url: databaseUrl });
      const lender = lenders.get(name) ?? new ConnectionLender(options.connections, RESERVED);
      lenders.set(name, lender);
      return lender;
    },
    isDraining: () => isDraining,
  };
  for (const config of configs) await admit(config);
  for (const tenant of problems.keys()) onNote(notServed(tenant));
  const due = new DueWork(signal);
  const failed = (error: unknown): void => log.error({ err: error }, "Background work for tenants failed");
  const rounds = [repeat(() => due.round(tenants.values()), { pauseMs: ROUND_MS, onError: failed })];
  const idleMs = options.idleSeconds * SECOND_MS;
  const idleRoundMs = Math.min(Math.max(idleMs / 4, SHORTEST_IDLE_ROUND_MS), LONGEST_IDLE_ROUND_MS);
  const looked = new Set<SharedTenant>();
  rounds.push(repeat(async () => closeIdleOnes(), { pauseMs: idleRoundMs, onError: failed }));
  rounds.push(repeat(takeUpMended, { pauseMs: READ_AGAIN_MS, onError: failed }));

  return {
    url: place.url,
    opsUrl: place.opsUrl,
    answered: () => answered,
    async drain(hurried) {
      beginDraining();
      const longest = Math.max(0, ...configs.map((config) => config.server.drainSeconds));
      await sleepUntilAborted((options.drainSeconds ?? longest) * SECOND_MS, hurried);
    },
    async close() {
      beginDraining();
      ended.abort();
      for (const round of rounds) void round.stop();
      const left = commandSockets.map((socket) => socket.leave());
      const all = [...tenants.values()];
      for (const { open } of all) open?.front.beginEnd();
      const inFlight = () => all.reduce((sum, tenant) => sum + tenant.inFlight, 0);
      await finishRequests({ server, connections, inFlight }, Promise.all([listening.close(), ...left]));
      server.close();
      certificates.close();
      report.close();
      for (const socket of commandSockets) socket.destroy();
      await Promise.all([...left, ...all.map((tenant) => tenant.close())]);
      const opsClosed = opsListening.close();
      opsConnections.destroyAll();
      await opsClosed;
      opsServer.close();
    },
  };

  async function admit(config: TenantConfig): Promise<void> {
    const { tenant: id } = config;
    const hosts = hostsOf(config);
    const own = { tenant: id, log: openLog(id, STDERR, { namesTenant: true }) };
    const certificate = async () => (https ? certificates.of({ tenant: id, hosts }) : undefined);
    const tenant = new SharedTenant({ ...own, hosts, turns, opener: new TenantOpener({ ...own, place, certificate }) });
    tenants.set(id, tenant);
    byHost = new HostTable([...tenants.values()].flatMap((each) => each.hosts.map((name) => [name, each] as const)));
    const { console: settings } = config.server;
    const at = { host: opsHost, url: place.opsUrl };
    await listenForItsCommands(tenant, settings ? consoleUrl({ ...settings, base: sharedBase(id) }, at) : null);
  }

  /** Commands of the directory find the tenant even while it is closed: their requests open it. */
  async function listenForItsCommands(tenant: SharedTenant, consoleUrl: string | null): Promise<void> {
    const { tenant: id, hosts } = tenant;
    const loopback = hosts.find((each) => isLoopback(each) && !each.startsWith("*"));
    const url = loopback === undefined ? place.url : `${scheme}://${loopback}:${port}`;
    try {
      const socket = await listenForCommands({
        ...{ directory, tenant: id },
        facts: () => ({
          ...{ tenant: id, pid: process.pid, server: SERVER_ID, version: packageVersion().version, since, url },
          ...{ opsUrl: place.opsUrl, consoleUrl },
          auditKeyId: tenant.open?.server.services.auditKey.id ?? null,
          problem: tenant.status().problem,
        }),
        page: async (path) => (path === "/readyz" ? ops.readiness(id) : undefined),
        handle: (req, res) => void tenant.handle(req, res, (fault) => refuseWith(fault, req, res)),
      });
      commandSockets.push(socket);
    } catch (error) {
      log.error({ err: error }, "Cannot create sockets in .pmctl/servers: commands cannot find the tenants");
    }
  }

  function answer(req: IncomingMessage, res: ServerResponse): void {
    answered += 1;
    const tenant = byHost.find(requestedHost(req.url, req.headers.host));
    const refuse = (fault: Fault) => refuseWith(fault, req, res);
    if (tenant) void tenant.handle(req, res, refuse);
    else refuse(unknownHost());
  }

  function refuseWith(fault: Fault, req: IncomingMessage, res: ServerResponse, reached = connections): void {
    const refused = refusal(fault);
    const isUnread = isBodyOutstanding(req);
    if (isUnread) reached.leaveUnread(req);
    const head = [...securityHead(refused), ...(refused.headers ?? []).flat(), "request-id", nextRequestId()];
    if (isUnread || isDraining) head.push("connection", "close");
    send(res, refused, head, req.method === "HEAD");
  }

  function beginDraining(): void {
    isDraining = true;
    for (const { open } of tenants.values()) for (const { door } of open ? doorsOf(open) : []) door.draining = true;
  }

  /** Closes tenants in parallel, so that a hanging database delays no other. */
  function closeIdleOnes(): void {
    for (const tenant of tenants.values()) {
      if (looked.has(tenant) || !tenant.isQuietFor(idleMs)) continue;
      looked.add(tenant);
      void closeUnlessDue(tenant).finally(() => looked.delete(tenant));
    }
  }

  async function closeUnlessDue(tenant: SharedTenant): Promise<void> {
    // While its database is unreachable a tenant stays open, so that its state shows this.
    const isFree = await due.isFree(tenant).catch(() => false);
    if (isFree && tenant.isQuietFor(idleMs)) await tenant.close();
  }

  /** Reads one file after the other, since reading delays requests. */
  async function takeUpMended(): Promise<void> {
    for (const [tenant, before] of [...problems]) {
      const config = files.readAgain(tenant);
      if (config) {
        await admit(config);
        onNote(`${tenant} is served again: its file was fixed`);
      } else if (problems.get(tenant) !== before) onNote(notServed(tenant));
      await sleepUntilAborted(BETWEEN_READINGS_MS, signal);
    }
  }

  function notServed(tenant: string): string {
    return `${tenant} is not served until its file is fixed: ${problems.get(tenant)?.split("\n", 1)[0]}`;
  }
}

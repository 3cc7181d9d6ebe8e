import { once } from "node:events";
import { rm } from "node:fs/promises";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connectionLimits } from "../../domain/access/connection-limits.ts";
import { HostTable, requestedHost } from "../../domain/access/host-names.ts";
import type { Fault } from "../../domain/fault.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import { isBodyOutstanding } from "../../server/body.ts";
import { ClientAddresses } from "../../server/client-address.ts";
import { ConnectionGroup } from "../../server/connections/connection-group.ts";
import { type OnRefused, RefusalReport } from "../../server/connections/connection-refusals.ts";
import { Connections } from "../../server/connections/connections.ts";
import { descriptorLimit } from "../../server/connections/descriptors.ts";
import { createListener, type KeyPair } from "../../server/connections/listener.ts";
import { nextRequestId } from "../../server/exchange.ts";
import { unknownHost } from "../../server/front-door.ts";
import { openLog } from "../../server/observe/log.ts";
import { Metrics } from "../../server/observe/metrics.ts";
import { tenantOps } from "../../server/observe/ops-listener.ts";
import { refusal, securityHead, send } from "../../server/responses.ts";
import { finishRequests } from "../../server/server.ts";
import { FairTurns } from "../../server/shared-port/fair-turns.ts";
import { acceptForwarded, Forwarding } from "../../server/shared-port/forwarding.ts";
import { FEWEST_CONNECTIONS, USUAL_CONNECTIONS } from "../../services/tenant/connections.ts";
import { SERVER_ID } from "../../services/tenant/server-id.ts";
import { newProofSecret } from "../doors/run-file.ts";
import { apartProblem } from "./blame.ts";
import { Certificates } from "./certificates.ts";
import { DueWatch, type Watched } from "./due-watch.ts";
import { HostedTenant } from "./hosted-tenant.ts";
import { KnownSecrets } from "./known-secrets.ts";
import type { Answer, HouseTerms, Question, Resident, TenantReadiness } from "./messages.ts";
import { TenantOpener } from "./open-tenant.ts";
import { Openings, type OpeningsOptions } from "./openings.ts";
import { Rooms } from "./rooms.ts";
import { announce, withdraw } from "./run-files.ts";

const STDERR = 2;
const SHORTEST_ROUND_MS = 250;
/** The part of a worker's descriptors that one tenant's clients may count on, so that they leave some to others. */
const TENANT_SHARE = 0.5;
const LONGEST_ROUND_MS = 5 * SECOND_MS;

/** The socket on which a worker takes requests from its siblings. */
function siblingSocket(folder: string, worker: number): string {
  return join(folder, `${worker}.sock`);
}

function byHost(residents: readonly Resident[]): HostTable<Resident> {
  return new HostTable(residents.flatMap((resident) => resident.hosts.map((host) => [host, resident] as const)));
}

/** With fewer tenants than rooms, each has more connections, up to what a server of its own has. */
function connectionsEach(connections: number, tenants: number): number {
  const share = Math.floor(connections / Math.max(1, tenants));
  return Math.min(Math.max(share, FEWEST_CONNECTIONS), USUAL_CONNECTIONS);
}

/** One process of a house: it serves the tenants that are its own, and passes requests for others on to their worker. */
export class Worker {
  readonly #terms: HouseTerms;
  #residents: HostTable<Resident>;
  readonly #tenants: Map<string, Watched>;
  readonly #connections: Connections;
  readonly #server: Server;
  /** For requests that siblings forward: TLS has ended there. */
  readonly #plainServer: Server;
  readonly #certificates: Certificates;
  /** By tenant; requests for none take turns too. */
  readonly #turns = new FairTurns<string | undefined>();
  readonly #rooms: Rooms;
  readonly #secrets: KnownSecrets;
  readonly #connectionsEach: number;
  readonly #openings: Openings;
  readonly #proofSecret = newProofSecret();
  /** The tenants that are its own. */
  readonly #own: Resident[];
  /** The part of this process's descriptors that one tenant's clients have. */
  readonly #descriptorsEach: number;
  readonly #forwarding: Forwarding;
  readonly #siblings: ReturnType<typeof acceptForwarded>;
  readonly #metrics = new Metrics();
  readonly #due: DueWatch;
  readonly #ended = new AbortController();
  /** Tenants that are being looked at, or closed, because nothing was asked of them. */
  readonly #closing = new Set<Watched>();
  #isDraining = false;
  /** Requests so far. */
  answered = 0;

  /**
   * @param usual the certificate for clients that ask for no name; without one the worker speaks plain HTTP
   * @param tell hears of each tenant that is being opened
   */
  constructor(terms: HouseTerms, usual: KeyPair | undefined, tell: OpeningsOptions["tell"]) {
    this.#terms = terms;
    this.#openings = new Openings({ suspects: terms.suspects, tell });
    this.#residents = byHost(terms.residents);
    const descriptors = descriptorLimit();
    const report = new RefusalReport(openLog("", STDERR));
    const onRefused: OnRefused = (reason, address) => {
      this.#metrics.countRefused(reason);
      report.note(reason, address);
    };
    const limits = { ...connectionLimits({}, descriptors), ...terms.seconds };
    this.#connections = new Connections({ limits, addresses: new ClientAddresses([]), onRefused });
    this.#forwarding = new Forwarding(this.#connections);
    const handle = (req: IncomingMessage, res: ServerResponse) => this.#handle(req, res);
    this.#certificates = new Certificates(terms.directory, (host) => this.#residents.find(host), openLog("", STDERR));
    const forName = (name: string) => this.#certificates.forName(name);
    this.#plainServer = createListener(handle, this.#connections);
    this.#server = usual ? createListener(handle, this.#connections, { usual, forName }) : this.#plainServer;
    this.#siblings = acceptForwarded((socket) => void this.#plainServer.emit("connection", socket));
    this.#secrets = new KnownSecrets(terms.directory);
    this.#own = terms.residents.filter(({ worker }) => worker === terms.worker);
    this.#connectionsEach = connectionsEach(terms.connections, this.#own.length);
    this.#rooms = new Rooms(Math.max(1, Math.floor(terms.connections / this.#connectionsEach)));
    this.#descriptorsEach = descriptors * TENANT_SHARE;
    this.#tenants = new Map(this.#own.map((resident) => [resident.tenant, this.#hosted(resident)]));
    this.#due = new DueWatch(this.#tenants);
  }

  /** Resolves once it takes requests. */
  async start(): Promise<void> {
    const { sockets, worker, idleSeconds } = this.#terms;
    // Node begins to look for slow requests when a server listens, which this one leaves to the house.
    for (const server of new Set([this.#server, this.#plainServer])) server.emit("listening");
    const path = siblingSocket(sockets, worker);
    // That of a worker that was killed.
    await rm(path, { force: true });
    await once(this.#siblings.listen(path), "listening");
    await this.#announce(this.#own);
    this.#due.start();
    void this.#closeIdleOnes(idleSeconds * SECOND_MS);
  }

  /** Takes a connection over. */
  take(socket: Socket): void {
    socket.allowHalfOpen = true;
    this.#server.emit("connection", socket);
  }

  /** From now on the tenant's requests are served here, or passed on to the worker that it has. */
  async admit(resident: Resident): Promise<void> {
    const { residents, worker } = this.#terms;
    residents.push(resident);
    this.#residents = byHost(residents);
    if (resident.worker !== worker) return;
    this.#own.push(resident);
    this.#tenants.set(resident.tenant, this.#hosted(resident));
    await this.#announce([resident]);
  }

  /** From now on each answer ends its connection. */
  drain(): void {
    this.#isDraining = true;
    for (const { hosted } of this.#tenants.values()) if (hosted.open) hosted.open.front.site.door.draining = true;
  }

  /** Finishes what is in flight and closes every tenant. */
  async close(): Promise<void> {
    this.drain();
    this.#ended.abort();
    await withdraw(this.#terms.directory, this.#own);
    const hosted = [...this.#tenants.values()].map((each) => each.hosted);
    const inFlight = () => hosted.reduce((sum, each) => sum + each.inFlight, this.#forwarding.inFlight);
    const closed = new Promise<void>((resolve) => this.#siblings.close(() => resolve()));
    const stopped = this.#due.stop();
    for (const { open } of hosted) open?.front.beginEnd();
    await finishRequests({ server: this.#server, connections: this.#connections, inFlight }, closed);
    await stopped;
    this.#certificates.close();
    await Promise.all(hosted.map((each) => each.close()));
  }

  async answer(question: Question): Promise<Answer> {
    if (question.about === "life") return [];
    const hosted = [...this.#tenants.values()].map((each) => each.hosted);
    if (question.about === "tenants") return hosted.map((each) => each.status());
    if (question.about === "readiness") return this.#readiness(question.tenant);
    const ofTenants = hosted.flatMap(({ tenant, open }) =>
      open ? [{ label: "tenant" as const, value: tenant, metrics: open.front.metrics }] : [],
    );
    const ofProcess = { label: "worker" as const, value: String(this.#terms.worker), metrics: this.#metrics };
    return Promise.all(
      [...ofTenants, ofProcess].map(async ({ metrics, ...label }) => ({ ...label, text: await metrics.text() })),
    );
  }

  /** Clients are served all the same where the files cannot be written. */
  async #announce(residents: readonly Resident[]): Promise<void> {
    await announce(this.#terms, residents, this.#proofSecret).catch((error: unknown) => {
      const text = "Run files in .pmctl/servers cannot be written: commands find a tenant once a client has opened it";
      openLog("", STDERR).error({ err: error }, text);
    });
  }

  #hosted(resident: Resident): Watched {
    const { tenant } = resident;
    const log = openLog(tenant, STDERR);
    const opener = new TenantOpener({
      terms: this.#terms,
      tenant,
      log,
      known: this.#secrets,
      reach: {
        scheme: this.#terms.https ? "https" : "http",
        descriptors: this.#descriptorsEach,
        connect: (terms) => ({ connections: this.#connections, group: new ConnectionGroup(terms) }),
      },
      certificate: async () => (this.#terms.https ? this.#certificates.of(resident) : undefined),
      proofSecret: this.#proofSecret,
      rooms: this.#rooms,
      connections: this.#connectionsEach,
    });
    const open = async (occupant: HostedTenant) => {
      const opened = await this.#openings.watch(tenant, () => opener.open(occupant));
      opened.front.site.door.draining = this.#isDraining;
      return opened;
    };
    const hosted = new HostedTenant({ tenant, open, log });
    if (this.#terms.apart.includes(tenant)) hosted.setApart(apartProblem(tenant));
    return { hosted, opener: { ask: (question) => this.#openings.watch(tenant, () => opener.ask(question)) } };
  }

  #handle(req: IncomingMessage, res: ServerResponse): void {
    this.answered += 1;
    const resident = this.#residents.find(requestedHost(req.url, req.headers.host));
    this.#turns.begin(resident?.tenant, () => this.#answer(req, res, resident));
  }

  #answer(req: IncomingMessage, res: ServerResponse, resident: Resident | undefined): void {
    const hosted = resident && this.#tenants.get(resident.tenant)?.hosted;
    if (hosted) hosted.handle(req, res, (fault) => this.#refuse(req, res, fault));
    else if (resident) this.#forward(req, res, resident);
    else this.#refuse(req, res, unknownHost());
  }

  /** The sibling counts the connection from here on. */
  #forward(req: IncomingMessage, res: ServerResponse, { worker }: Resident): void {
    if (this.#connections.join(req.socket, this.#connections.group))
      this.#forwarding.send(req, res, siblingSocket(this.#terms.sockets, worker));
  }

  #refuse(req: IncomingMessage, res: ServerResponse, fault: Fault): void {
    const answer = refusal(fault);
    const isUnread = isBodyOutstanding(req);
    if (isUnread) this.#connections.leaveUnread(req);
    const head = [...securityHead(answer), ...(answer.headers ?? []).flat(), "request-id", nextRequestId()];
    if (isUnread || this.#isDraining) head.push("connection", "close");
    send(res, answer, head, req.method === "HEAD");
  }

  async #readiness(tenant: string): Promise<TenantReadiness | null> {
    const hosted = this.#tenants.get(tenant)?.hosted;
    if (!hosted) return null;
    if (hosted.open) {
      const page = await tenantOps(hosted.open.front.ops, "/readyz");
      return page ? { status: page.status, body: page.body } : null;
    }
    const { state, problem } = hosted.status();
    const ok = state === "idle" && !this.#isDraining;
    // It is opened by the first request, a change among them.
    const body = { ok, tenant, state, problem, draining: this.#isDraining, server: SERVER_ID, writes: ok };
    return { status: ok ? 200 : 503, body: JSON.stringify({ ...body, leases: [], database: null }) };
  }

  async #closeIdleOnes(idleMs: number): Promise<void> {
    const { signal } = this.#ended;
    const roundMs = Math.min(Math.max(idleMs / 4, SHORTEST_ROUND_MS), LONGEST_ROUND_MS);
    while (!signal.aborted) {
      await delay(roundMs, undefined, { signal, ref: false }).catch(() => undefined);
      for (const watched of this.#tenants.values()) {
        if (signal.aborted || this.#closing.has(watched) || !watched.hosted.isQuietFor(idleMs)) continue;
        // One whose database hangs holds up no other.
        this.#closing.add(watched);
        void this.#closeUnlessDue(watched, idleMs).finally(() => this.#closing.delete(watched));
      }
    }
  }

  async #closeUnlessDue(watched: Watched, idleMs: number): Promise<void> {
    const { hosted } = watched;
    // While its database is away it stays open, so that its state tells.
    const isFree = await this.#due.isFree(watched).catch(() => false);
    if (isFree && hosted.isQuietFor(idleMs)) await hosted.close();
  }
}

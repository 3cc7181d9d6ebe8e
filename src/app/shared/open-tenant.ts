import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { type Environment, loadEnvironment } from "../../config/environment.ts";
import { commandHost, hostsOf } from "../../config/hosts.ts";
import { resolveTenant, type TenantSecrets } from "../../config/resolve-tenant.ts";
import type { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { warningsOf } from "../../domain/durability.ts";
import { invariant } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { type Connection, type ReadSql, withClient } from "../../postgres/connect.ts";
import type { ConnectionLender } from "../../postgres/lending.ts";
import type { Connections } from "../../server/connections/connections.ts";
import type { Console } from "../../server/console/console.ts";
import type { FrontDoor } from "../../server/front-door.ts";
import type { startServer } from "../../server/server.ts";
import { createTenant, type HttpTenant, type Reach } from "../../server/tenant.ts";
import { ChainMemory } from "../../services/audit/chain-check.ts";
import { unready } from "../../services/tenant/tenant.ts";
import { describeCertificate, type ServedCertificate } from "../serve/served-certificate.ts";
import { serveTenant, type TenantServer } from "../serve/tenant-server.ts";
import { type DeclaredTenant, readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { openAsServer, type TenantDatabase } from "../tenant/tenant-database.ts";

/** The parts that the tenants of one process share. */
export interface SharedPlace {
  directory: string;
  url: string;
  address: string;
  port: number;
  opsUrl: string;
  opsPort: number;
  /** Reach of the port's connections, which a tenant counts against its own limits. */
  reach: Reach;
  /** Those of the operations listener, which serves the consoles. */
  opsConnections: Connections;
  sweep: boolean | undefined;
  /** The secrets of all tenants, for comparison with a tenant's own: no value may be in two places. */
  secrets(environment: Environment, isDoubted: boolean): DirectorySecrets;
  /** Lends connections to a tenant's database server. */
  lenderOf(databaseUrl: string | undefined): ConnectionLender;
  isDraining(): boolean;
}

/** A tenant with a connected database. */
export interface OpenTenant {
  front: HttpTenant;
  /** Undefined where the tenant file turns it off. */
  console: Console | undefined;
  server: TenantServer;
  receivers: readonly string[];
}

interface OpenerOptions {
  tenant: string;
  place: SharedPlace;
  certificate(): Promise<ServedCertificate | undefined>;
  log: Logger;
}

/** A tenant's present files, and its database. */
interface ReadTenant extends DeclaredTenant {
  secrets: TenantSecrets;
}

const LAST_REQUESTS_MS = 25_000;
const STEP_MS = 20;
const STATEMENT_TIMEOUT_MS = 5000;

/** Opens one tenant of a process whenever it is needed, with its files at that time. */
export class TenantOpener {
  readonly #options: OpenerOptions;
  /** How its database was reached the last time, and what is known of its log since. */
  #known: { url: string | undefined; database: TenantDatabase; chainMemory: ChainMemory } | undefined;
  /** The lines about the tenant that operators have seen. */
  #told: ReadonlySet<string> = new Set();

  constructor(options: OpenerOptions) {
    this.#options = options;
  }

  /**
   * Asks a closed tenant's database over a connection that is closed at once. May use the reserve of connections.
   * @param failedBefore reads the other tenants' secrets again, since they may have caused the failure
   */
  async ask<Value>(
    question: (sql: ReadSql, receivers: readonly string[]) => PromiseLike<Value>,
    failedBefore: boolean,
  ): Promise<{ connection: Connection; answer: Value }> {
    const tenant = this.#read(failedBefore);
    const lender = this.#options.place.lenderOf(tenant.secrets.databaseUrl).forTenant(() => true);
    return lender.once(async () => {
      const { connection } = (await this.#database(tenant)).database;
      const terms = { name: "look", max: 1, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
      const answer = withClient(connection, terms, (sql) => question(sql, receiversOf(tenant)));
      return {
        connection,
        answer: await answer.catch((error: unknown) => {
          throw unready(tenant.id, error);
        }),
      };
    });
  }

  /** @param isUrgent whether the work may use the reserve of connections */
  async open(failedBefore: boolean, isUrgent: () => boolean): Promise<OpenTenant> {
    try {
      return await this.#serve(this.#read(failedBefore), isUrgent);
    } catch (error) {
      // The database may have moved, or may have to be started.
      this.#known = undefined;
      throw error;
    }
  }

  #read(failedBefore: boolean): ReadTenant {
    const { tenant, place } = this.#options;
    const { directory, secrets } = place;
    const declared = readDeclaredTenant(directory, tenant);
    const environment = loadEnvironment(directory);
    return {
      ...declared,
      secrets: resolveTenant(declared.config, environment, secrets(environment, failedBefore)),
    };
  }

  async #database(tenant: ReadTenant) {
    const url = tenant.secrets.databaseUrl;
    if (!this.#known || this.#known.url !== url)
      this.#known = { url, database: await openAsServer(tenant, url), chainMemory: new ChainMemory() };
    return this.#known;
  }

  async #serve(tenant: ReadTenant, isUrgent: () => boolean): Promise<OpenTenant> {
    const { log, place } = this.#options;
    const { url, address, port, opsUrl, opsPort } = place;
    const certificate = await this.#options.certificate();
    const lender = place.lenderOf(tenant.secrets.databaseUrl).forTenant(isUrgent);
    const { database, chainMemory } = await lender.once(() => this.#database(tenant));
    const fronts: Pick<OpenTenant, "front" | "console">[] = [];
    const listen: typeof startServer = async (options) => {
      const front = createTenant(options, place.reach);
      front.metrics.setConnections(() => ({ api: front.group.size }), front.streams);
      const opened = { front, console: front.openConsole?.(place.opsConnections) };
      for (const { door } of doorsOf(opened)) door.draining = place.isDraining();
      front.start();
      fronts.push(opened);
      const nothing = () => {};
      return {
        ...{ url, address, port, opsUrl, opsPort },
        ...{ consoleUrl: undefined, renew: nothing, renewConsole: nothing, drain: async () => {} },
        close: () => closeFront(opened),
      };
    };
    const shared = { listen, certificate, lender, chainMemory };
    const server = await serveTenant({ ...tenant, database, log, sweep: place.sweep, shared });
    const [opened] = fronts;
    invariant(opened, "a server that was started has been put behind the port");
    this.#tell(server, certificate, tenant).catch((error: unknown) =>
      log.error({ err: error }, "Its state is not known"),
    );
    return { ...opened, server, receivers: receiversOf(tenant) };
  }

  /** Prints how the tenant is served, at its first opening and whenever that changes. */
  async #tell(server: TenantServer, certificate: ServedCertificate | undefined, { config }: ReadTenant): Promise<void> {
    const { log, place } = this.#options;
    const { database } = await server.readiness();
    const host = commandHost(config, hostsOf(config));
    const shown = certificate ? [describeCertificate(certificate, place.url, host)] : [];
    const warnings = warningsOf(database);
    for (const line of shown) if (!this.#told.has(line)) log.info(line);
    for (const line of warnings) if (!this.#told.has(line)) log.warn(line);
    this.#told = new Set([...shown, ...warnings]);
  }
}

/** Waits for requests in flight, then closes the tenant's listener. */
async function closeFront(opened: Pick<OpenTenant, "front" | "console">): Promise<void> {
  const { front } = opened;
  front.beginEnd();
  const startedAt = monotonicMs();
  while (doorsOf(opened).some(({ door }) => door.inFlight > 0) && monotonicMs() - startedAt < LAST_REQUESTS_MS)
    await delay(STEP_MS);
  await front.end();
}

/** The ways in which requests reach the tenant. */
export function doorsOf({ front, console }: Pick<OpenTenant, "front" | "console">): { door: FrontDoor }[] {
  return console ? [front, console] : [front];
}

function receiversOf({ config }: ReadTenant): string[] {
  return config.webhooks.outbound.map(({ name }) => name);
}

import type { Logger } from "pino";
import { loadEnvironment } from "../../config/environment.ts";
import { commandHost, hostsOf } from "../../config/hosts.ts";
import { resolveTenant, type TenantSecrets } from "../../config/resolve-tenant.ts";
import { warningsOf } from "../../domain/durability.ts";
import { invariant } from "../../domain/fault.ts";
import { type Connection, type ReadSql, withClient } from "../../postgres/connect.ts";
import { serverOf } from "../../postgres/database.ts";
import type { startServer } from "../../server/server.ts";
import { createTenantFront, type Reach, type TenantFront } from "../../server/tenant-front.ts";
import { ChainMemory } from "../../services/audit/audit-watch.ts";
import { unready } from "../../services/tenant/readiness.ts";
import { describeCertificate, type ServedCertificate } from "../doors/served-certificate.ts";
import { serveTenant, type TenantServer } from "../serve/tenant-server.ts";
import { type DeclaredTenant, readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { openAsServer, type TenantDatabase } from "../tenant/tenant-database.ts";
import { closeFront, type OpenTenant } from "./hosted-tenant.ts";
import type { KnownSecrets } from "./known-secrets.ts";
import type { HouseTerms } from "./messages.ts";
import type { Occupant, Rooms } from "./rooms.ts";

interface OpenerOptions {
  terms: Pick<HouseTerms, "directory" | "url" | "address" | "port" | "opsUrl" | "opsPort">;
  tenant: string;
  /** Shared by the tenants of a worker. */
  known: KnownSecrets;
  /** Where its requests come from. */
  reach: Reach;
  certificate(): Promise<ServedCertificate | undefined>;
  /** What the worker proves itself by. */
  proofSecret: string;
  /** Bound how many tenants are connected at a time, each with so many connections. */
  rooms: Rooms;
  connections: number;
  log: Logger;
}

/** A database as it was found, and what was learnt of it since. */
interface KnownDatabase {
  url: string | undefined;
  database: TenantDatabase;
  chainMemory: ChainMemory;
}

/** A tenant's files as they are now. */
interface ReadTenant extends DeclaredTenant {
  secrets: TenantSecrets;
}

interface Asked<Value> {
  connection: Connection;
  answer: Value;
}

const STATEMENT_TIMEOUT_MS = 5000;

/** Opens one tenant of a house as often as it is needed, each time by its files as they are then. */
export class TenantOpener {
  readonly #options: OpenerOptions;
  /** How its database was reached the last time, which takes several connections to find out. */
  #known: KnownDatabase | undefined;
  #told: ReadonlySet<string> = new Set();

  constructor(options: OpenerOptions) {
    this.#options = options;
  }

  /** Asks the tenant's database while the tenant is closed, by one connection, which is closed at once. */
  async ask<Value>(
    question: (sql: ReadSql, receivers: readonly string[]) => PromiseLike<Value>,
  ): Promise<Asked<Value>> {
    const tenant = this.#read();
    const leave = await this.#options.rooms.take(serverName(tenant.secrets), {
      quietSince: undefined,
      close: async () => {},
    });
    try {
      const { connection } = (await this.#database(tenant)).database;
      const terms = { name: "look", max: 1, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
      const answer = withClient(connection, terms, (sql) => question(sql, receiversOf(tenant)));
      return {
        connection,
        answer: await answer.catch((error: unknown) => {
          throw unready(tenant.id, error);
        }),
      };
    } finally {
      leave();
    }
  }

  /** @param occupant makes room for others when it can */
  async open(occupant: Occupant): Promise<OpenTenant> {
    const tenant = this.#read();
    const leave = await this.#options.rooms.take(serverName(tenant.secrets), occupant);
    try {
      const opened = await this.#serve(tenant);
      const close = () => opened.server.close().finally(leave);
      return { ...opened, server: { ...opened.server, close } };
    } catch (error) {
      leave();
      // The database may be elsewhere now, or have to be started.
      this.#known = undefined;
      throw error;
    }
  }

  async #serve(tenant: ReadTenant): Promise<OpenTenant> {
    const { reach, log, connections, proofSecret } = this.#options;
    const certificate = await this.#options.certificate();
    const fronts: TenantFront[] = [];
    const listen: typeof startServer = async (options) => {
      const front = createTenantFront(options, reach);
      front.metrics.setConnections(() => ({ api: front.group.table.size }), front.site.streams);
      front.start();
      fronts.push(front);
      return { ...this.#place(), renew: () => {}, drain: async () => {}, close: () => closeFront(front) };
    };
    const { database, chainMemory } = await this.#database(tenant);
    const shared = { listen, certificate, proofSecret, connections, chainMemory };
    const server = await serveTenant({ ...tenant, database, log, shared });
    const [front] = fronts;
    invariant(front, "a server that was started has been put behind the port");
    this.#tell(server, certificate, tenant).catch((error: unknown) =>
      log.error({ err: error }, "Its state is not known"),
    );
    return { front, server, receivers: receiversOf(tenant) };
  }

  /** What an operator has to know of how it is served: said at its first opening, and again when it is not the same. */
  async #tell(
    server: TenantServer,
    certificate: ServedCertificate | undefined,
    { config }: Pick<ReadTenant, "config">,
  ): Promise<void> {
    const { log, terms } = this.#options;
    const { database } = await server.readiness();
    const shown = certificate
      ? [describeCertificate(certificate, terms.url, commandHost(config, hostsOf(config)))]
      : [];
    const warnings = warningsOf(database);
    for (const line of shown) if (!this.#told.has(line)) log.info(line);
    for (const line of warnings) if (!this.#told.has(line)) log.warn(line);
    this.#told = new Set([...shown, ...warnings]);
  }

  #place() {
    const { url, address, port, opsUrl, opsPort } = this.#options.terms;
    return { url, address, port, opsUrl, opsPort };
  }

  #read(): ReadTenant {
    const { terms, tenant, known } = this.#options;
    const declared = readDeclaredTenant(terms.directory, tenant);
    const environment = loadEnvironment(terms.directory);
    try {
      return { ...declared, secrets: resolveTenant(declared.config, environment, known.current(environment)) };
    } catch (error) {
      known.doubt();
      throw error;
    }
  }

  async #database(tenant: ReadTenant): Promise<KnownDatabase> {
    const url = tenant.secrets.databaseUrl;
    if (!this.#known || this.#known.url !== url)
      this.#known = { url, database: await openAsServer(tenant, url), chainMemory: new ChainMemory() };
    return this.#known;
  }
}

function receiversOf({ config }: ReadTenant): string[] {
  return config.webhooks.outbound.map(({ name }) => name);
}

/** The database server of a tenant; all embedded databases of a directory have one. */
function serverName({ databaseUrl: url }: TenantSecrets): string {
  return url === undefined ? "embedded" : serverOf({ url });
}

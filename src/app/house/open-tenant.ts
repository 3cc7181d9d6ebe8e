import type { Logger } from "pino";
import { loadEnvironment } from "../../config/environment.ts";
import { resolveTenant } from "../../config/resolve-tenant.ts";
import { invariant } from "../../domain/fault.ts";
import type { Connection } from "../../postgres/connect.ts";
import type { startServer } from "../../server/server.ts";
import { createTenantFront, type Reach, type TenantFront } from "../../server/tenant-front.ts";
import { serveTenant } from "../serve/tenant-server.ts";
import { readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { openAsServer, type TenantDatabase } from "../tenant/tenant-database.ts";
import { closeFront, type OpenTenant } from "./hosted-tenant.ts";
import type { HouseTerms } from "./messages.ts";

interface OpenerOptions {
  terms: Pick<HouseTerms, "directory" | "url" | "address" | "port" | "opsUrl" | "opsPort">;
  tenant: string;
  /** Where its requests come from. */
  reach: Reach;
  log: Logger;
}

/** Opens one tenant of a house as often as it is needed, each time by its files as they are then. */
export class TenantOpener {
  readonly #options: OpenerOptions;
  /** How its database was reached the last time, which takes several connections to find out. */
  #known: { url: string | undefined; database: TenantDatabase } | undefined;

  constructor(options: OpenerOptions) {
    this.#options = options;
  }

  /** What has to be known to look at the tenant while it is closed. */
  async describe(): Promise<{ connection: Connection; receivers: readonly string[] }> {
    const { config, database } = await this.#ready();
    return { connection: database.connection, receivers: config.webhooks.outbound.map(({ name }) => name) };
  }

  async open(): Promise<OpenTenant> {
    const { reach, log } = this.#options;
    const fronts: TenantFront[] = [];
    const listen: typeof startServer = async (options) => {
      const front = createTenantFront(options, reach);
      front.metrics.setConnections(() => ({ api: front.group.table.size }), front.site.streams);
      front.start();
      fronts.push(front);
      return { ...this.#place(), renew: () => {}, drain: async () => {}, close: () => closeFront(front) };
    };
    try {
      const server = await serveTenant({ ...(await this.#ready()), log, shared: { listen, certificate: undefined } });
      const [front] = fronts;
      invariant(front, "a server that was started has been put behind the port");
      return { front, server };
    } catch (error) {
      // The database may be elsewhere now, or have to be started.
      this.#known = undefined;
      throw error;
    }
  }

  #place() {
    const { url, address, port, opsUrl, opsPort } = this.#options.terms;
    return { url, address, port, opsUrl, opsPort };
  }

  async #ready() {
    const { terms, tenant } = this.#options;
    const declared = readDeclaredTenant(terms.directory, tenant);
    const secrets = resolveTenant(declared.config, loadEnvironment(terms.directory));
    const url = secrets.databaseUrl;
    if (!this.#known || this.#known.url !== url) this.#known = { url, database: await openAsServer(declared, url) };
    return { ...declared, secrets, database: this.#known.database };
  }
}

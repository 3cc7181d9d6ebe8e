import { ConfigError } from "../../config/config-error.ts";
import { commandHost, hostsOf, repeatedHosts } from "../../config/hosts.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { HostTable } from "../../domain/access/host-names.ts";
import type { Resident } from "./messages.ts";

/** Which tenants a house serves, and what is wrong with the files of the others, which keeps no other tenant from being served. */
export class Residence {
  readonly #directory: string;
  readonly #workers: number;
  readonly configs: TenantConfig[] = [];
  /** In the order in which they came. */
  readonly residents: Resident[] = [];
  readonly problems = new Map<string, string>();
  #byHost: HostTable<Resident>;

  /** @throws ConfigError for a host of two tenants */
  constructor(directory: string, tenants: readonly string[], workers: number) {
    this.#directory = directory;
    this.#workers = workers;
    for (const tenant of tenants) {
      const config = this.#read(tenant);
      if (config) this.#admit(config);
    }
    const repeated = repeatedHosts(this.configs);
    if (repeated.length > 0) throw new ConfigError(repeated);
    this.#byHost = this.#tableOfHosts();
  }

  /** The tenant of a host. */
  residentOf(host: string): Resident | undefined {
    return this.#byHost.find(host);
  }

  /**
   * Reads the file of a tenant that is not served once more.
   * @returns the tenant, where it is served from now on
   */
  readAgain(tenant: string): Resident | undefined {
    const config = this.#read(tenant);
    if (!config) return undefined;
    const repeated = repeatedHosts([...this.configs, config]);
    if (repeated.length > 0) {
      this.problems.set(tenant, new ConfigError(repeated).message);
      return undefined;
    }
    this.problems.delete(tenant);
    const resident = this.#admit(config);
    this.#byHost = this.#tableOfHosts();
    return resident;
  }

  /** The workers in turn. */
  #admit(config: TenantConfig): Resident {
    const hosts = hostsOf(config);
    const host = commandHost(config, hosts);
    const resident: Resident = {
      ...{ tenant: config.tenant, hosts, worker: this.residents.length % this.#workers },
      ...(host === undefined ? {} : { commandHost: host }),
    };
    this.configs.push(config);
    this.residents.push(resident);
    return resident;
  }

  /** Undefined for a file with problems, which are kept. */
  #read(tenant: string): TenantConfig | undefined {
    try {
      return loadTenantFile(tenantPath(this.#directory, tenant));
    } catch (error) {
      this.problems.set(tenant, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  #tableOfHosts(): HostTable<Resident> {
    return new HostTable(this.residents.flatMap((each) => each.hosts.map((host) => [host, each] as const)));
  }
}

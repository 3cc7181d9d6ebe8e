import { ConfigError } from "../../config/config-error.ts";
import type { Environment } from "../../config/environment.ts";
import { repeatedHosts } from "../../config/hosts.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { type ConnectionLimits, DEFAULT_SECONDS } from "../../domain/access/connection-limits.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";

/** Reading every tenant's secrets again takes 0.1 s for five hundred tenants. */
const SECRETS_AGAIN_MS = 10 * SECOND_MS;

type Seconds = Pick<ConnectionLimits, "headersSeconds" | "bodySeconds" | "idleSeconds" | "writeSeconds">;

/** The files of the tenants of one process. A tenant whose file has problems does not stop the others. */
export class TenantFiles {
  readonly #directory: string;
  readonly configs: TenantConfig[] = [];
  readonly problems = new Map<string, string>();
  #secrets: DirectorySecrets | undefined;
  #secretsAt = 0;

  /** @throws ConfigError for a host of two tenants */
  constructor(directory: string, tenants: readonly string[]) {
    this.#directory = directory;
    for (const tenant of tenants) {
      const config = this.#read(tenant);
      if (config) this.configs.push(config);
    }
    const repeated = repeatedHosts(this.configs);
    if (repeated.length > 0) throw new ConfigError(repeated);
  }

  /** Reads a file with problems again. @returns the tenant, if it may be served now */
  readAgain(tenant: string): TenantConfig | undefined {
    const config = this.#read(tenant);
    if (!config) return undefined;
    const repeated = repeatedHosts([...this.configs, config]);
    if (repeated.length > 0) {
      this.problems.set(tenant, new ConfigError(repeated).message);
      return undefined;
    }
    this.problems.delete(tenant);
    this.configs.push(config);
    return config;
  }

  /**
   * The secrets of all tenants of the directory, for comparison with a tenant's own. Read once, since that reads every
   * tenant's file.
   * @param isDoubted reads them again from time to time, since the other place of a repeated value may have been fixed
   */
  secrets(environment: Environment, isDoubted: boolean): DirectorySecrets {
    if (!this.#secrets || (isDoubted && monotonicMs() - this.#secretsAt >= SECRETS_AGAIN_MS)) {
      this.#secrets = new DirectorySecrets(this.#directory, environment);
      this.#secretsAt = monotonicMs();
    }
    return this.#secrets;
  }

  /** The longest times among the tenants; each tenant enforces its own shorter time itself. */
  longestSeconds(): Seconds {
    const longest = (name: keyof Seconds) =>
      Math.max(DEFAULT_SECONDS[name], ...this.configs.map(({ server }) => server.limits[name] ?? 0));
    return {
      headersSeconds: longest("headersSeconds"),
      bodySeconds: longest("bodySeconds"),
      idleSeconds: longest("idleSeconds"),
      writeSeconds: longest("writeSeconds"),
    };
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
}

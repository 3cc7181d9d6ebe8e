import type { Logger } from "pino";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { invariant } from "../../domain/fault.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { KeyPair } from "../../server/connections/listener.ts";
import { type ServedCertificate, servedCertificate } from "../serve/served-certificate.ts";
import type { SharedTenant } from "./shared-tenant.ts";

type Named = Pick<SharedTenant, "tenant" | "hosts">;

const POLL_MS = 10 * SECOND_MS;

/** The certificates of a port with many tenants: each tenant's own, or one that is signed for the tenant's hosts. */
export class Certificates {
  readonly #directory: string;
  readonly #log: Logger;
  /** Finds the tenant of a host. */
  readonly #tenantOf: (host: string) => Named | undefined;
  readonly #known = new Map<string, Promise<ServedCertificate>>();
  readonly #following: (() => void)[] = [];

  constructor(directory: string, tenantOf: (host: string) => Named | undefined, log: Logger) {
    this.#directory = directory;
    this.#log = log;
    this.#tenantOf = tenantOf;
  }

  /** The key pair for a client that asks for this name; undefined where no tenant has the name. */
  async forName(name: string): Promise<KeyPair | undefined> {
    const tenant = this.#tenantOf(name);
    return tenant && (await this.of(tenant)).current;
  }

  /** The certificate of a tenant, checked again every ten seconds. */
  of(named: Named): Promise<ServedCertificate> {
    const known = this.#known.get(named.tenant) ?? this.#open(named);
    this.#known.set(named.tenant, known);
    // A certificate that failed is tried again with the next client.
    known.catch(() => this.#known.delete(named.tenant));
    return known;
  }

  close(): void {
    for (const stop of this.#following) stop();
  }

  async #open({ tenant, hosts }: Named): Promise<ServedCertificate> {
    const config = loadTenantFile(tenantPath(this.#directory, tenant));
    let served: ServedCertificate | undefined;
    // A self-signed certificate keeps the names that it has.
    for (const host of hosts)
      served = await servedCertificate({ directory: this.#directory, config, host, signsOwn: true, pollMs: POLL_MS });
    invariant(served, "a tenant that a client asked for by name has a host");
    const stop = served.follow(
      ({ fingerprint }) => this.#log.info({ tenant, fingerprint }, "The renewed certificate is in use"),
      (error) => this.#log.error({ tenant, err: error }, "The certificate was changed and cannot be used"),
    );
    this.#following.push(stop);
    return served;
  }
}

import type { Logger } from "pino";
import type { TenantLender } from "../../postgres/lending.ts";
import type { LogFiles } from "../../server/observe/log-files.ts";
import type { Metrics } from "../../server/observe/metrics.ts";
import type { Readiness } from "../../server/observe/ops-listener.ts";
import type { PlaygroundOptions } from "../../server/pages/playground-page.ts";
import type { startServer } from "../../server/server.ts";
import type { ChainMemory } from "../../services/audit/chain-check.ts";
import type { Leases } from "../../services/background/leases.ts";
import type { TenantServices } from "../../services/tenant/tenant.ts";
import { lastBackupAt } from "../backup/last-backup.ts";
import type { ReadyTenant } from "../tenant/tenant-database.ts";
import type { ServedCertificate } from "./served-certificate.ts";

export interface ServeOptions extends Pick<ReadyTenant, "id" | "directory" | "config" | "secrets" | "database"> {
  host?: string | undefined;
  /** 0 takes any free port. */
  port?: number | undefined;
  opsPort?: number | undefined;
  opsHost?: string | undefined;
  /** How long it goes on serving once it is asked to end. */
  drainSeconds?: number | undefined;
  /** Speak TLS, with a self-signed certificate where the tenant file names none. */
  https?: boolean | undefined;
  /** False where another process runs the oracle's sweep. */
  sweep?: boolean | undefined;
  /** Called once the database was found sound, before the port opens. */
  beforeListening?: (() => void) | undefined;
  /** Lines of JSON on stderr unless given. */
  log?: Logger;
  /** Keeps the log's lines from stderr; `pmctl logs` has them. */
  isQuiet?: boolean | undefined;
  /** The port of several tenants, in place of one of its own. */
  shared?: SharedPort | undefined;
  /** Of the demo's page with the widget. */
  playground?: PlaygroundOptions | undefined;
}

/** A port where the tenant is found by the host of requests, so it answers to its own hosts alone. */
export interface SharedPort {
  /** Puts the tenant behind the port. */
  listen: typeof startServer;
  certificate: ServedCertificate | undefined;
  /** Lends the connections to its database. */
  lender: TenantLender;
  /** What the process knows of the tenant's chain since it was open before. */
  chainMemory: ChainMemory;
}

/** What the parts of one server share. */
export interface Serving extends ServeOptions {
  services: TenantServices;
  leases: Leases;
  /** What `pmctl logs` reads. */
  logFiles: LogFiles;
  metrics: Metrics;
  log: Logger;
}

/** What a server reports about its changes and their database. */
export async function readinessOf({
  directory,
  config,
  services: { durability, evidence },
}: Pick<Serving, "directory" | "config" | "services">): Promise<Readiness> {
  const [state, lastAt] = await Promise.all([durability.read(), lastBackupAt({ directory, tenant: config.tenant })]);
  return {
    writes: state !== null && durability.refusal === undefined && evidence.forbids === undefined,
    database: state && { ...state, lastBackupAt: lastAt },
  };
}

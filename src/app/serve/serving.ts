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
  /** How long the server goes on serving after it is asked to end. */
  drainSeconds?: number | undefined;
  /** Speaks TLS, with a self-signed certificate where the tenant file names none. */
  https?: boolean | undefined;
  /** False where another process runs the oracle's sweep. */
  sweep?: boolean | undefined;
  /** Called once the database was found sound, before the port opens. */
  beforeListening?: (() => void) | undefined;
  /** The log (default: lines of JSON on stderr). */
  log?: Logger;
  /** Keeps the log's lines off stderr; `pmctl logs` still shows them. */
  isQuiet?: boolean | undefined;
  /** The port of several tenants, in place of the tenant's own. */
  shared?: SharedPort | undefined;
  /** Options of the demo's page with the widget. */
  playground?: PlaygroundOptions | undefined;
}

/** A port that finds the tenant by the request's host, so the tenant answers to its own hosts only. */
export interface SharedPort {
  /** Registers the tenant with the port. */
  listen: typeof startServer;
  certificate: ServedCertificate | undefined;
  /** Lends connections to the tenant's database. */
  lender: TenantLender;
  /** What the process has learnt about the tenant's chain in earlier openings. */
  chainMemory: ChainMemory;
}

/** The parts that one server shares. */
export interface Serving extends ServeOptions {
  services: TenantServices;
  leases: Leases;
  /** The files that `pmctl logs` reads. */
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

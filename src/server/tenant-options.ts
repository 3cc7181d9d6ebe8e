import type { Logger } from "pino";
import type { ConnectionLimits } from "../domain/access/connection-limits.ts";
import type { OutgoingRules } from "../domain/access/networks.ts";
import type { IntegrityProblem } from "../domain/audit/audit-link.ts";
import type { Fault } from "../domain/fault.ts";
import type { Pool } from "../postgres/pool.ts";
import type { InboundProvider } from "../providers/kyc.ts";
import type { LeaseStatus } from "../services/background/leases.ts";
import type { Handlers } from "../services/invoke.ts";
import type { TenantServices } from "../services/tenant/tenant.ts";
import type { JwtOptions } from "./access/user-tokens.ts";
import type { OnRefused } from "./connections/connection-refusals.ts";
import type { ConsoleOptions } from "./console/options.ts";
import type { Exchange } from "./exchange.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { Readiness } from "./observe/ops-listener.ts";
import type { EmbedOptions } from "./pages/embed-page.ts";
import type { PlaygroundOptions } from "./pages/playground-page.ts";
import type { RouteServices } from "./routes.ts";

/** Requests per minute. A request without a limit of its own counts in its address's limit. */
export interface RequestLimits {
  /** Limit of each client address. */
  perMinute: number;
  /** Limit of each valid admin key. */
  adminPerMinute?: number | undefined;
  /** Limit of signed webhooks of each address. */
  webhooksPerMinute?: number | undefined;
  /** Limit of the widget's and market pages' reads of each address; 600, or `perMinute` if that is more. */
  embedPerMinute?: number | undefined;
}

/** @param seconds from the request's headers to its answer */
export type OnAnswered = (exchange: Exchange, status: number, seconds: number, fault: Fault | undefined) => void;

export type StrictTransport = boolean | "forwarded";

/** What a tenant answers over HTTP, and to whom. */
export interface TenantOptions {
  tenantId: string;
  /** The address in the OpenAPI document. */
  baseUrl?: string | undefined;
  /**
   * The stream of events needs the tail, providers' webhooks need the sequencer, the widget needs the cursors and the
   * views, the log in lines needs the connection for checks, and the console needs the sequencer and the audit keys.
   */
  services: { handlers: Handlers } & Pick<TenantServices, "isSealed"> &
    Partial<
      Pick<
        TenantServices,
        | ("sequencer" | "leading" | "tail" | "refusals" | "security" | "cursors" | "views" | "publicReads" | "checks")
        | "auditKeys"
        | "serving"
      >
    >;
  /** Used for API keys, the shared request count, and the initial data of streams and the widget. */
  pool: Pool;
  jwt: JwtOptions;
  /** Called after each answered request. */
  onAnswered?: OnAnswered | undefined;
  /** The hosts that our own requests may reach. */
  network?: OutgoingRules | undefined;
  /** The secrets of generic webhooks; an endpoint without an entry accepts none. */
  webhookSecrets?: RouteServices["webhookSecrets"] | undefined;
  /** Active signing secrets of the Stripe endpoint. */
  stripeSecrets?: readonly string[] | undefined;
  /** The identity provider whose own webhooks are accepted beside the generic ones. */
  kycProvider?: InboundProvider | undefined;
  /** Without it, the tenant has no widget. */
  embed?: EmbedOptions | undefined;
  /** The page for trying the widget; only the demo has one. */
  playground?: PlaygroundOptions | undefined;
  /** Without it, the tenant has no console. */
  console?: ConsoleOptions | undefined;
  /** Origins whose pages may call the public and user operations. */
  corsOrigins: readonly string[];
  /** Networks (CIDR) whose `X-Forwarded-For` is trusted. */
  trustProxy: readonly string[];
  rateLimit: RequestLimits;
  /** How long a request waits for the shared request count before this process counts alone; 250 ms by default. */
  countTimeoutMs?: number | undefined;
  /** Host names that are answered, with `*.` for one label; all names by default. */
  hosts?: readonly string[] | undefined;
  /** Host names under which admin operations exist; all names by default. */
  adminHosts?: readonly string[] | undefined;
  /** When browsers are told to use HTTPS only: always, or if a trusted proxy reports HTTPS. */
  strictTransport?: StrictTransport | undefined;
  /** How often streams send a heartbeat and check their credentials. */
  streamHeartbeatMs?: number | undefined;
  log: Logger;
  /** The id of the key that seals the audit log, for commands of the directory. */
  auditKeyId?: string | undefined;
  /** How long a connection may stay silent while the server closes, since a request may be on its way; 500 ms by default. */
  lastRequestMs?: number | undefined;
  /** Limits on connections; unstated limits follow from the process's number of descriptors. */
  limits?: { readonly [Limit in keyof ConnectionLimits]?: number | undefined } | undefined;
  /** Called for each connection and stream that a limit refused or ended, in addition to metrics and logs. */
  onRefused?: OnRefused | undefined;
  isDatabaseUp: () => Promise<boolean>;
  /** What the operations listener reports about writes; by default that none are accepted. */
  readiness?: (() => Promise<Readiness>) | undefined;
  /** The leases of this server; without it the operations listener lists none. */
  leases?: (() => readonly LeaseStatus[]) | undefined;
  /** The problem of the audit log; without it the operations listener reports the log as sound. */
  integrityProblem?: (() => IntegrityProblem | undefined) | undefined;
  /** Shared with callers that record more than requests. */
  metrics?: Metrics | undefined;
}

import { hostsOf, servedHosts } from "../../config/hosts.ts";
import { packageVersion } from "../../config/package-version.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import { NO_ORIGIN } from "../../domain/access/security.ts";
import { SYSTEM_ACTOR } from "../../domain/audit/actors.ts";
import { operatorText } from "../../domain/audit/chain-walk.ts";
import { Fault } from "../../domain/fault.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import { WORKS } from "../../ledger/unchained/leases.ts";
import { kycProvider } from "../../providers/kyc.ts";
import { discrepancyOf } from "../../queries/reconcile/checks.ts";
import { DatabaseOutage } from "../../server/observe/database-outage.ts";
import { openLog } from "../../server/observe/log.ts";
import { LogFiles } from "../../server/observe/log-files.ts";
import { accessLine, eventLine } from "../../server/observe/log-lines.ts";
import { Metrics } from "../../server/observe/metrics.ts";
import type { Readiness } from "../../server/observe/ops-listener.ts";
import { type RunningServer, startServer } from "../../server/server.ts";
import type { StrictTransport } from "../../server/tenant-options.ts";
import type { AnchorWriter } from "../../services/anchors/anchor-writer.ts";
import { type Look, newestAnchor } from "../../services/anchors/evidence.ts";
import { Leases } from "../../services/background/leases.ts";
import { startSweeper, sweepClosings, sweepOverrides } from "../../services/background/sweepers.ts";
import { SERVER_ID } from "../../services/tenant/identifiers.ts";
import { openTenant, type TenantServices } from "../../services/tenant/tenant.ts";
import { languagesFor } from "../embed/check-embed.ts";
import { logsFolder } from "../logs/read-logs.ts";
import { serviceOptions } from "../tenant/tenant-services.ts";
import { openAnchoring } from "./anchoring.ts";
import { createDeliveries, startOracleWork, startProposalWork, watchCluster } from "./background-work.ts";
import { consoleOf, type OwnConsole, openOwnConsole } from "./console-listener.ts";
import { type ServedCertificate, servedCertificate } from "./served-certificate.ts";
import { readinessOf, type ServeOptions, type Serving } from "./serving.ts";
import { stateServingFacts } from "./serving-facts.ts";

export interface TenantServer {
  url: string;
  opsUrl: string;
  /** Undefined for plain HTTP. */
  certificate: ServedCertificate | undefined;
  /** The page for operators; undefined where the tenant file turns it off. */
  consoleUrl: string | undefined;
  services: TenantServices;
  /** What the operations listener reports about changes and the database. */
  readiness(): Promise<Readiness>;
  /** How many requests the API has answered. */
  answered(): number;
  /**
   * Announces the end to probes, then serves for the time in the tenant file.
   * @param signal ends that time early
   */
  drain(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const STDERR = 2;

/** Serves a tenant that has been applied. */
export async function serveTenant(options: ServeOptions): Promise<TenantServer> {
  const { directory, config, secrets, database } = options;
  const { auditKey, previousAuditKeys } = secrets;
  const host = options.host ?? config.server.host;
  const { shared } = options;
  const certificate = shared
    ? shared.certificate
    : await servedCertificate({ directory, config, host, signsOwn: options.https === true });
  const outage = new DatabaseOutage();
  const logFiles = new LogFiles({ folder: logsFolder(directory, config.tenant), ...config.logs });
  const onLine = (json: string) => {
    const line = eventLine(json);
    if (line !== undefined) logFiles.add(line);
  };
  const log = options.log ?? openLog(config.tenant, options.isQuiet ? undefined : STDERR, { outage, onLine });
  const metrics = new Metrics(shared === undefined);
  let anchors: AnchorWriter | undefined;
  const services = await openTenant({
    ...serviceOptions(options, database.connection, [auditKey, ...previousAuditKeys]),
    chainMemory: shared?.chainMemory,
    lender: shared?.lender,
    neighbours: shared ? undefined : { directory, version: packageVersion().version },
    onError: (error) => log.error({ err: error }, "A commit failed"),
    onNewerSchema: (notice) => log.warn(notice),
    onCommit: ({ commands, head }) => {
      metrics.observeBatch(commands);
      anchors?.consider(head);
    },
  });
  outage.watch(log, () => services.isDatabaseUp());
  const found = await soundAtStart(services);
  const leases = new Leases({
    pool: services.background,
    holder: SERVER_ID,
    works: WORKS.filter((work) => work !== "oracle" || options.sweep !== false),
    onError: (error) => log.error({ err: error }, "The leases of background work cannot be renewed"),
  });
  const serving: Serving = { ...options, host, services, leases, metrics, log, logFiles };
  const anchoring = openAnchoring(serving, newestAnchor(found.kept));
  anchors = anchoring.writer;
  metrics.setQueueLength(() => services.sequencer.queueLength);
  metrics.setDatabase({
    read: () => services.durability.read(),
    connections: () => services.countConnections(),
    failovers: () => services.durability.failovers,
  });
  options.beforeListening?.();
  const ownConsole = shared ? undefined : await openOwnConsole(options);
  stateServingFacts(serving, [certificate, ownConsole?.certificate]);
  const server = await listen(serving, certificate, ownConsole).catch(async (error: unknown) => {
    await anchoring.close();
    await services.close();
    throw error;
  });
  const { url, opsUrl, consoleUrl } = server;
  const watching = watchCluster(serving);
  const follow = (served: ServedCertificate | undefined, renew: RunningServer["renew"]) =>
    served?.follow(
      (renewed) => {
        renew(renewed);
        log.info({ fingerprint: renewed.fingerprint }, "The renewed certificate is in use");
      },
      (error) => log.error({ err: error }, "The changed certificate cannot be used; the old one is still shown"),
    );
  const followed = [follow(certificate, server.renew), follow(ownConsole?.certificate, server.renewConsole)];
  await leases.start();
  const closing = startSweeper(
    async () => leases.holds("closing") && sweepClosings(services),
    (error) => log.error({ err: error }, "Closed markets cannot be recorded"),
  );
  const overrides = startSweeper(
    async () => leases.holds("overrides") && sweepOverrides(services),
    (error) => log.error({ err: error }, "Ended overrides cannot be recorded"),
  );
  const proposals = startProposalWork(serving);
  watchRecord(serving, anchoring.writer);
  const deliveries = createDeliveries(serving);
  await deliveries.start();
  const oracle = startOracleWork(serving);
  return {
    url,
    opsUrl,
    consoleUrl,
    certificate,
    services,
    readiness: () => readinessOf(serving),
    answered: () => metrics.requests.total,
    drain: async (signal) => {
      const released = leases.stop();
      await server.drain((options.drainSeconds ?? config.server.drainSeconds) * SECOND_MS, signal);
      await released;
    },
    close: async () => {
      void watching?.stop();
      for (const stop of followed) void stop?.();
      await Promise.all([leases.stop(), server.close()]);
      await Promise.all([closing.stop(), overrides.stop(), proposals.stop(), oracle.stop()]);
      await deliveries.stop();
      await anchoring.close();
      await services.close();
      await logFiles.close();
    },
  };
}

/** @throws Fault INTEGRITY for a log that was set back or has no head, CONFIG_INVALID for another log's key */
async function soundAtStart(services: TenantServices): Promise<Look> {
  try {
    const look = await services.evidence.look();
    const { refusal } = services.durability;
    if (refusal) throw refusal;
    const { forbids } = services.evidence;
    if (forbids) throw new Fault("INTEGRITY", `The audit log does not hold: ${operatorText(forbids)}`);
    // Without a head the keys of API callers could not be checked either: the log says which keys exist.
    if (look.log.head) await services.evidence.requireOurLog(look.log.head);
    return look;
  } catch (error) {
    await services.close();
    throw error;
  }
}

/** Checks the log and the ledger in the background, and pages an operator when either does not hold. */
function watchRecord({ services, leases, metrics, log }: Serving, anchors: AnchorWriter): void {
  const { recordWatch, security, sequencer, evidence } = services;
  recordWatch.start({
    isMine: () => leases.holds("audit"),
    onBroken: ({ kind, seq, problem, source }) => {
      security.note("integrity.failed", kind, NO_ORIGIN);
      log.error({ event: "integrity.failed", kind, seq: Number(seq), problem, source }, "THE AUDIT LOG DOES NOT HOLD");
      const { acknowledged } = evidence;
      if (kind === "set-back" && acknowledged?.ts && recordWatch.chain.verifiedHead.isAt(acknowledged))
        anchors.remember({ ...acknowledged, ts: Date.parse(acknowledged.ts) });
    },
    onDifference: ({ checks }) => {
      security.note("integrity.failed", "reconciliation", NO_ORIGIN);
      const off = checks.filter(({ differenceMicro }) => differenceMicro !== 0n).map(({ name }) => name);
      const discrepancy = usdFromMicro(discrepancyOf(checks));
      log.error({ event: "integrity.failed", kind: "ledger", checks: off, discrepancy }, "THE LEDGER DOES NOT ADD UP");
      // Once this is on record, putting a row back into the database does not undo it for any process.
      const command = { type: "recordReconciliation", ok: false, discrepancyMicro: discrepancyOf(checks) } as const;
      sequencer
        .submit({ command, actor: SYSTEM_ACTOR })
        .catch((error: unknown) => log.error({ err: error }, "The finding cannot be put on record"));
    },
    onError: (error) => log.error({ err: error }, "The record cannot be verified"),
    onSound: ({ log: { head } }) => head && anchors.consider({ ...head, ts: Date.parse(head.ts) }),
  });
  metrics.setLedgerVerified(() => recordWatch.ledger.verifiedAt);
}

function listen(
  serving: Serving,
  certificate: ServedCertificate | undefined,
  ownConsole: OwnConsole | undefined,
): Promise<RunningServer> {
  const { config, secrets, services, leases, metrics, log, logFiles, ...options } = serving;
  return (options.shared?.listen ?? startServer)(
    {
      tenantId: config.tenant,
      auditKeyId: services.auditKey.id,
      baseUrl: config.baseUrl,
      services,
      pool: services.pool,
      jwt: secrets.jwt,
      network: config.network,
      webhookSecrets: secrets.webhooks.inbound,
      stripeSecrets: secrets.webhooks.stripe,
      kycProvider: secrets.webhooks.kyc && kycProvider(secrets.webhooks.kyc),
      embed: {
        name: config.name,
        baseUrl: config.baseUrl,
        publicKeys: secrets.keys.filter(({ type }) => type === "public").map(({ value }) => value),
        allowedOrigins: config.embed.allowedOrigins,
        theme: config.embed.theme,
        warnImpact: config.embed.warnImpact,
        languages: languagesFor(config),
        robots: config.pages.robots,
      },
      playground: options.playground,
      console: consoleOf(serving),
      corsOrigins: config.cors.origins,
      trustProxy: config.server.trustProxy,
      rateLimit: config.rateLimit,
      isDatabaseUp: services.isDatabaseUp,
      readiness: () => readinessOf(serving),
      leases: () => leases.status(),
      integrityProblem: () => services.recordWatch.problem?.kind,
      hosts: answeredHosts(serving),
      adminHosts: config.server.adminHosts,
      limits: config.server.limits,
      strictTransport: strictTransport(config, certificate),
      metrics,
      log,
      onAnswered: (...answered) => logFiles.add(accessLine(...answered)),
    },
    {
      host: options.host ?? config.server.host,
      port: options.port ?? config.server.port,
      opsPort: options.opsPort ?? config.server.opsPort,
      opsHost: options.opsHost ?? config.server.opsHost,
      keyPair: certificate?.current,
      console: ownConsole && { ...ownConsole, keyPair: ownConsole.certificate?.current },
      commands: { directory: serving.directory, version: packageVersion().version },
    },
  );
}

/** The hosts that the server answers to; empty for any host. */
function answeredHosts({ config, shared }: Pick<Serving, "config" | "shared">): string[] {
  return shared ? hostsOf(config) : servedHosts(config);
}

/** If TLS ends at a proxy, only the proxy knows which requests came over HTTPS. */
function strictTransport({ baseUrl }: TenantConfig, certificate: ServedCertificate | undefined): StrictTransport {
  if (!isOwnDomain(baseUrl)) return false;
  return certificate?.isSelfSigned === false || "forwarded";
}

/** A browser that remembers HTTPS for a loopback name would refuse every plain server of this machine. */
function isOwnDomain(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" && !isLoopback(hostname);
}

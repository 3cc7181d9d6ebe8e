import type { Fault } from "../../domain/fault.ts";
import { checkFeeds } from "../../oracle/check.ts";
import type { OracleContext } from "../../oracle/context.ts";
import { type OracleWorker, startOracle, sweep } from "../../oracle/worker.ts";
import { DeliveryWorker } from "../../outgoing/delivery.ts";
import { type Repeated, repeat } from "../../services/background/repeat.ts";
import { startSweeper } from "../../services/background/sweepers.ts";
import { sweepProposals } from "../../services/proposals/proposals.ts";
import { anchorsOf } from "../../services/webhooks/read-events.ts";
import { openOracle, oracleGauges } from "../tenant/tenant-oracle.ts";
import type { Serving } from "./serving.ts";

/** Checks feeds and sweeps on request, and sweeps by itself unless `--no-sweep` is set. */
export function startOracleWork(serving: Serving): { stop(): Promise<void> } {
  const { config, secrets, services } = serving;
  const context = openOracle(config, secrets, services);
  services.sweeps.check = (feeds) => checkFeeds(context, feeds);
  // With its own memory, because it may run beside this process's regular sweep.
  services.sweeps.run = () => sweep({ ...context, memory: { ...context.memory } });
  const worker = serving.sweep === false ? undefined : startSweep(serving, context);
  return {
    stop: async () => {
      await worker?.stop();
      await context.close();
    },
  };
}

/** Settles markets by their feeds, or by the tenant's own oracle. */
function startSweep({ services, leases, metrics, log }: Serving, context: OracleContext): OracleWorker {
  const worker = startOracle(
    context,
    (error) => log.error({ err: error }, "The oracle's sweep failed"),
    ({ settled, held }) => {
      if (settled.length > 0) log.info({ settled: settled.length, held: held.length }, "The oracle settled markets");
    },
    () => leases.holds("oracle"),
  );
  metrics.setOracle({ sweepAgeMs: () => worker.ageMs(), read: () => oracleGauges(services) });
  return worker;
}

/** Executes proposals whose time has come. */
export function startProposalWork({ services, leases, log }: Pick<Serving, "services" | "leases" | "log">): Repeated {
  const onRefused = refusedOnce((text) => log.warn(text));
  return startSweeper(
    async (signal) => leases.holds("closing") && sweepProposals(services, signal, onRefused),
    (error) => log.error({ err: error }, "Proposals whose time has come cannot be executed"),
  );
}

/** Reports a refused proposal once for each reason, however often it is tried. */
export function refusedOnce(tell: (text: string) => void): (proposal: { id: string }, fault: Fault) => void {
  const last = new Map<string, string>();
  return ({ id }, { code, message }) => {
    // Another actor decided since the sweep found it.
    if (code === "PROPOSAL_DECIDED" || last.get(id) === code) return;
    last.set(id, code);
    tell(`The proposal ${id} is due and waits, because it is refused: ${code}: ${message}`);
  };
}

/** Creates the sender of events to the receivers of the tenant file. */
export function createDeliveries({ config, secrets, services, leases, metrics, log }: Serving): DeliveryWorker {
  const { background, tail, auditKey, recordWatch } = services;
  const deliveries = new DeliveryWorker({
    pool: background,
    isSealed: services.isSealed,
    tail,
    receivers: config.webhooks.outbound.map((receiver) => ({
      ...receiver,
      secrets: secrets.webhooks.outbound[receiver.name] ?? [],
    })),
    network: config.network,
    isMine: () => leases.holds("webhooks"),
    anchorOf: anchorsOf({ tenantId: config.tenant, recordWatch, auditKey }),
    onResult: (receiver, result) => {
      metrics.countDelivery(receiver, result);
      if (result === "dead")
        log.warn({ receiver }, "A webhook was given up: see pmctl webhook deliveries --status dead");
    },
    onError: (error) => log.error({ err: error }, "Webhooks cannot be delivered"),
  });
  metrics.setOldestUndelivered(() => deliveries.oldest);
  return deliveries;
}

const CRASH_CHECK_MS = 1000;

/** Restarts the embedded database after a crash, but not after it was stopped on purpose. */
export function watchCluster({ database: { cluster }, services, log }: Serving): Repeated | undefined {
  if (!cluster) return undefined;
  const restart = async () => {
    if (!(await services.isDatabaseUp()) && (await cluster.restartAfterCrash()))
      log.warn("The embedded database had crashed and was started again");
  };
  const onError = (error: unknown) => log.error({ err: error }, "The embedded database cannot be started");
  return repeat(restart, { pauseMs: CRASH_CHECK_MS, onError });
}

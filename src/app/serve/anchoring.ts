import type { ResolvedAnchorTarget } from "../../config/resolve-tenant.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import {
  directoryTarget,
  fileTarget,
  programTarget,
  receiversTarget,
  urlTarget,
} from "../../outgoing/anchor-targets.ts";
import { OutgoingHttp } from "../../outgoing/guarded-fetch.ts";
import { readClock } from "../../postgres/database-time.ts";
import { type AnchorTarget, AnchorWriter } from "../../services/anchors/anchor-writer.ts";
import type { Serving } from "./serving.ts";

interface Anchoring {
  writer: AnchorWriter;
  /** Anchors the last entry. Must be called before the services are closed. */
  close(): Promise<void>;
}

/**
 * Starts to write a server's anchors: to its directory, the places in its file, and the receivers that ask for them.
 * @param newest the newest anchor at the start
 */
export function openAnchoring(
  { directory, config, secrets, services, metrics, log }: Serving,
  newest: KnownAnchor | undefined,
): Anchoring {
  const outgoing = new OutgoingHttp(config.network);
  const clock = () => services.background.read(readClock);
  const receivers = config.webhooks.outbound.flatMap(({ name, events }) =>
    events.includes("audit.anchored") ? [name] : [],
  );
  const targets: AnchorTarget[] = [
    directoryTarget(directory, config.tenant, services.auditKeys),
    ...secrets.anchors.map((target) => targetOf(target, { outgoing, clock })),
    ...(receivers.length > 0 ? [receiversTarget(services.background, receivers)] : []),
  ];
  const writer = new AnchorWriter({
    tenant: config.tenant,
    key: services.auditKey,
    targets,
    every: config.audit.anchorEvery,
    newest,
    maySign: (head) => services.recordWatch.chain.maySign(head),
    onFailure: ({ kind, place }, error) => {
      metrics.countAnchorFailure(kind);
      log.warn({ target: kind, place, err: error }, "An anchor of the audit log was not taken; the server tries again");
    },
  });
  metrics.setIntegrity({ isSound: () => !services.recordWatch.problem, newest: () => writer.newest });
  return {
    writer,
    close: async () => {
      // If the database cannot be reached, its last entry is anchored at the next start.
      const look = await services.evidence.look().catch(() => undefined);
      const head = look?.problem ? undefined : look?.log.head;
      if (head) writer.consider({ ...head, ts: Date.parse(head.ts) }, true);
      await writer.idle();
      await outgoing.close();
    },
  };
}

function targetOf(target: ResolvedAnchorTarget, http: Parameters<typeof urlTarget>[1]): AnchorTarget {
  switch (target.kind) {
    case "file":
      return fileTarget(target.file);
    case "exec":
      return programTarget(target.argv, target);
    case "url":
      return urlTarget(target, http);
  }
}

import { askFacts } from "../../client/server-by-socket.ts";
import { consoleTls } from "../../config/certificate.ts";
import type { ServerFacts } from "../../contract/server-facts.ts";
import { withinDeadline } from "../../postgres/client.ts";
import { serverSockets } from "../../state/server-sockets.ts";
import { lastBackupAt } from "../backup/last-backup.ts";
import type { ServedCertificate } from "./served-certificate.ts";
import type { Serving } from "./serving.ts";

/** A server that is silent for so long is left out: operators wait for the answer. */
const ANSWER_WITHIN_MS = 1000;

/** Gives the services what the process knows of its directory: its servers, certificates and backups. */
export function stateServingFacts(
  { directory, config, services }: Pick<Serving, "directory" | "config" | "services">,
  [own, ofConsole]: readonly (ServedCertificate | undefined)[],
): void {
  const place = { directory, tenant: config.tenant };
  const { serving, auditKeys } = services;
  const isOurs = ({ tenant, auditKeyId }: ServerFacts) =>
    tenant === config.tenant && auditKeys.some(({ id }) => id === auditKeyId);
  serving.servers = async () => {
    const sockets = await serverSockets(directory, config.tenant);
    const asked = sockets.map(({ path }) => withinDeadline(askFacts(path), ANSWER_WITHIN_MS).catch(() => "silent"));
    return (await Promise.all(asked)).flatMap((facts) =>
      typeof facts === "string" || !isOurs(facts)
        ? []
        : [{ server: facts.server, version: facts.version, since: Date.parse(facts.since), url: facts.url }],
    );
  };
  serving.certificates = () => {
    const stated = new Map([
      ["server.tls", own],
      ...(ofConsole ? [[(consoleTls(config) ?? []).join("."), ofConsole] as const] : []),
    ]);
    return [...stated].flatMap(([section, served]) =>
      served === undefined || served.isSelfSigned ? [] : [{ section, expiresAt: served.current.expires }],
    );
  };
  serving.lastBackupAt = async () => {
    const at = await lastBackupAt(place);
    return at === null ? null : Date.parse(at);
  };
}

import type { Waiting } from "../../client/inbox/item.ts";
import { item, URGENT_MS } from "../../client/inbox/waiting.ts";
import type { TlsSection } from "../../config/certificate.ts";
import { formatPath } from "../../config/config-error.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import type { PlanItem } from "../../plan/plan-types.ts";

/** An older backup would lose more than a week of rows that no log can replay. */
const OLD_BACKUP_MS = 7 * DAY_MS;

/** Managed values that were changed live since the last apply. */
export function waitingDrift(tenant: string, items: readonly PlanItem[]): Waiting[] {
  const drifted = items.filter(({ kind }) => kind === "drift" || kind === "conflict");
  return drifted.map(({ field, kind, live, desired, by }) => {
    const who = `${by ? `, by ${by.actor}` : ""}${kind === "conflict" ? "; both were changed" : ""}`;
    const title = `${field} is ${canonicalJson(live)} live and ${canonicalJson(desired)} in the file${who}`;
    const commands = [`drift ${tenant}`, `drift ${tenant} --write`, `plan ${tenant} --on-drift overwrite`];
    return item("drift", "warn", [field, title], {
      since: by?.ts ?? null,
      commands: commands.map((words) => `pmctl ${words}`),
    });
  });
}

/** A certificate of the tenant file, if it expires before `until`. @param expires in milliseconds since 1970 */
export function expiringCertificate(
  section: TlsSection,
  expires: number,
  { tenant, now, until }: { tenant: string; now: number; until: number },
): Waiting[] {
  if (expires > until) return [];
  const title = "The certificate expires; the server loads a renewed file by itself";
  return [
    item("certificate", expires - now < URGENT_MS ? "critical" : "warn", [formatPath([...section]), title], {
      dueAt: new Date(expires).toISOString(),
      commands: [`pmctl doctor ${tenant}`],
    }),
  ];
}

/** @param lastAt in ISO 8601; null where this directory wrote no backup */
export function missingBackup(tenant: string, lastAt: string | null, now: number): Waiting[] {
  if (lastAt !== null && now - Date.parse(lastAt) < OLD_BACKUP_MS) return [];
  const title =
    lastAt === null ? "No backup was written from this directory" : "The last backup is more than a week old";
  const commands = [`pmctl db backup -t ${tenant}`];
  return [item("backup", lastAt === null ? "info" : "warn", [tenant, title], { since: lastAt, commands })];
}

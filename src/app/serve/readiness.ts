import type { Readiness } from "../../server/observe/ops-listener.ts";
import { lastBackupAt } from "../backup/last-backup.ts";
import type { Serving } from "./serving.ts";

/** What a server tells of its changes, and of the database that they go to. */
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

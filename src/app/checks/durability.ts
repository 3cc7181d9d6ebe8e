import type { Promises, ServerFacts, Standby } from "../../domain/durability.ts";
import { counted } from "../../domain/text.ts";
import { type Finding, fail, ok, warn } from "./check.ts";

export type DurabilityFacts = Omit<ServerFacts, "manager"> & Promises & { required: number };

/** What an acknowledged change survives. */
export function evaluateDurability(facts: DurabilityFacts): Finding[] {
  return [evaluateDisk(facts), evaluateReplication(facts), evaluateArchive(facts)];
}

function evaluateDisk({ fsync, fullPageWrites }: DurabilityFacts): Finding {
  const remedy = "Turn it on in postgresql.conf";
  if (!fsync) return fail("durability", "fsync is off: a crash loses money", remedy);
  if (!fullPageWrites)
    return warn(
      "durability",
      "full_page_writes is off: a crash of the machine loses money unless its file system writes pages whole",
      remedy,
    );
  return ok("durability", "a commit is on the disk before it is acknowledged");
}

function evaluateReplication(facts: DurabilityFacts): Finding {
  const { survives, synchronousStandbys: there, required, strict } = facts;
  const found = `${replicationOf(facts)}${strict === null ? "; whether the wait stays when all are lost cannot be seen" : ""}`;
  if (there < required)
    return fail(
      "replication",
      `database.require.synchronousStandbys is ${required}, and each commit waits for ${there}; ${found}`,
      "Bring the standbys back: changes are refused meanwhile",
    );
  if (survives === "machine") return ok("replication", found);
  return warn(
    "replication",
    found,
    'Add a synchronous standby: see "Add a synchronous standby" in docs/guides/runbook.md',
  );
}

function replicationOf({ waits, synchronousStandbys, standbys }: DurabilityFacts): string {
  const named = standbys === null ? "the login may not see the standbys" : listed(standbys);
  if (!waits) return `no synchronous standby: acknowledged changes are lost with the machine (${named})`;
  if (synchronousStandbys === 0) return `commits wait for a synchronous standby, and none is visible (${named})`;
  return `each commit is on ${counted(synchronousStandbys, "synchronous standby")}: ${named}`;
}

function listed(standbys: readonly Standby[]): string {
  if (standbys.length === 0) return "no standby is connected";
  return standbys
    .map(({ name, state, sync, lagBytes }) => `${name} ${state}, ${sync}, ${lagBytes ?? "unknown"} bytes behind`)
    .join("; ");
}

function evaluateArchive({ walLevel, archive }: DurabilityFacts): Finding {
  const { mode, lastArchivedAt, lastFailedAt, failed } = archive;
  const remedy = "Set archive_mode and archive_command, such as of pgBackRest: they allow a restore to any moment";
  if (mode === "off") return warn("archive", `archive_mode is off, wal_level is ${walLevel}`, remedy);
  if (lastFailedAt !== null && (lastArchivedAt === null || lastFailedAt > lastArchivedAt))
    return warn(
      "archive",
      `the last attempt failed at ${lastFailedAt}, ${failed} failed so far`,
      "PostgreSQL's log says why; until then its disk fills",
    );
  return ok("archive", lastArchivedAt === null ? "on, nothing archived yet" : `last archived at ${lastArchivedAt}`);
}

export function evaluateBackup(lastAt: string | null, tenant: string): Finding {
  if (lastAt !== null) return ok("backup", `the last one from this directory shows ${lastAt}`);
  return warn("backup", "none was written from this directory", "Write one", `pmctl db backup -t ${tenant}`);
}

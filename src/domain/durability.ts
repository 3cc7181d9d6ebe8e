import { Fault } from "./fault.ts";
import { counted } from "./text.ts";

/** What an acknowledged change survives: nothing, a crash of the server, or the loss of its machine. */
export type Survival = "none" | "crash" | "machine";

export interface Standby {
  name: string;
  /** As PostgreSQL names it, such as `streaming` or `catchup`. */
  state: string;
  sync: "sync" | "quorum" | "potential" | "async";
  /** Bytes of the log that it has not on its disk yet; null before it has told. */
  lagBytes: number | null;
}

/** The settings and the standbys of a database server, as it tells them. Times are ISO 8601. */
export interface ServerFacts {
  /** Such as 18.4. */
  version: string;
  fsync: boolean;
  /** Off, a crash of the machine may leave a page half written. */
  fullPageWrites: boolean;
  /** Of what is acknowledged: the session's, where that waits for a disk. Never `off`. */
  synchronousCommit: string;
  synchronousStandbyNames: string;
  /** Null when the role may not see them. */
  standbys: Standby[] | null;
  walLevel: string;
  archive: { mode: string; lastArchivedAt: string | null; lastFailedAt: string | null; failed: number };
  /** A program that changes `synchronous_standby_names` by itself. */
  manager: "Patroni" | "CloudNativePG" | null;
}

/** What the facts come to. */
export interface Promises {
  /** A commit waits for a standby. */
  waits: boolean;
  /** Whether the wait stays when all standbys are lost; null if it cannot be seen. */
  strict: boolean | null;
  /** How many standbys each commit waits for and are there, the lesser. */
  synchronousStandbys: number;
  survives: Survival;
}

const WAITING = new Set(["on", "remote_write", "remote_apply"]);

/** Pure. A standby that cannot be seen counts as away. */
export function promisesOf(facts: Omit<ServerFacts, "version" | "fullPageWrites" | "walLevel" | "archive">): Promises {
  const { fsync, synchronousCommit, synchronousStandbyNames: names, standbys } = facts;
  const waits = names.trim() !== "" && WAITING.has(synchronousCommit);
  const there = (standbys ?? []).filter(({ sync }) => sync === "sync" || sync === "quorum").length;
  const synchronousStandbys = waits ? Math.min(there, standbysToWaitFor(names)) : 0;
  return { waits, strict: waits ? isStrict(facts) : false, synchronousStandbys, survives: survival() };

  function survival(): Survival {
    if (!fsync) return "none";
    return synchronousStandbys >= 1 ? "machine" : "crash";
  }
}

/**
 * PostgreSQL itself waits for as long as its setting names standbys. Patroni and CloudNativePG empty the setting with the last
 * standby unless they are told not to, which they keep outside the database; `*` is what Patroni's strict mode leaves there.
 */
function isStrict({
  manager,
  synchronousStandbyNames: names,
}: Pick<ServerFacts, "manager" | "synchronousStandbyNames">) {
  return manager === null || names.includes("*") ? true : null;
}

/** The number in `2 (a, b)`, `FIRST 2 (a, b)` and `ANY 2 (a, b)`; a plain list means one. */
function standbysToWaitFor(names: string): number {
  return Number(/^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}

/** What a running server reports about its database. */
export interface DatabaseState extends Omit<ServerFacts, "manager" | "fullPageWrites">, Promises {
  /** `host:port` of the primary. */
  host: string;
  /** Standbys that the tenant file requires every acknowledged change to be on. */
  required: number;
  lastBackupAt: string | null;
  checkedAt: string;
}

/** Why changes are refused where so many standbys are required; undefined while they are there. */
export function standbysMissing(
  { synchronousStandbys, standbys }: Pick<DatabaseState, "synchronousStandbys" | "standbys">,
  required: number,
): Fault | undefined {
  if (synchronousStandbys >= required) return undefined;
  const unseen = standbys === null ? "; the database's owner may not see which there are" : "";
  const text = `Changes are refused: ${counted(required, "synchronous standby")} required, ${synchronousStandbys} there${unseen}`;
  return new Fault("STANDBY_REQUIRED", text);
}

/** Whether a commit would wait for a standby that is away. False where the standbys cannot be seen. Pure. */
export function waitsInVain({
  waits,
  synchronousStandbys,
  synchronousStandbyNames,
  standbys,
}: Pick<DatabaseState, "waits" | "synchronousStandbys" | "synchronousStandbyNames" | "standbys">): boolean {
  return waits && standbys !== null && synchronousStandbys < standbysToWaitFor(synchronousStandbyNames);
}

/** What operators are told at the start of a server. @param state null while the database is away */
export function warningsOf(state: Pick<DatabaseState, "survives" | "waits"> | null): string[] {
  if (state === null) return ["The database does not tell whether there is a synchronous standby"];
  if (state.survives === "machine") return [];
  const standby = state.waits ? "the synchronous standby is away" : "there is no synchronous standby";
  if (state.survives === "crash") return [`An acknowledged change is lost with the database's machine: ${standby}`];
  return [`An acknowledged change may be lost in a crash: fsync is off, and ${standby}`];
}

/** A standby as one reading of `pg_stat_replication` shows it. */
export interface StandbyPosition {
  /** Of the process that sends it the log: a standby that connects again has another one. */
  pid: number;
  /** The end of the log on its disk, as PostgreSQL writes positions; null before it has told. */
  flushed: string | null;
  /** Bytes of the primary's log beyond that. */
  lagBytes: number | null;
}

/** Where each standby stands that is behind, and since when (ms of any steady clock), by `pid`. */
export type Progress = ReadonlyMap<number, { flushed: string | null; since: number }>;

/**
 * How long a standby that is behind may stay where it is. Shorter pauses of a network or a disk end by themselves; a commit
 * waits through them.
 */
const STALLED_MS = 2500;

/**
 * What a further reading shows. A standby that has the whole log, or more of it than before, counts as there. Only one that
 * stays where it was although there is more keeps its time.
 */
export function followStandbys(known: Progress, seen: readonly StandbyPosition[], nowMs: number): Progress {
  const behind = seen.filter(({ lagBytes }) => lagBytes !== 0);
  return new Map(
    behind.map(({ pid, flushed }) => {
      const before = known.get(pid);
      return [pid, { flushed, since: before?.flushed === flushed ? before.since : nowMs }];
    }),
  );
}

/**
 * Whether a standby takes nothing although there is more: it is frozen or cut off, and PostgreSQL counts it as connected until
 * `wal_sender_timeout`. Its last message says less, since by default one comes every 10 s only.
 */
export function isStalled(progress: Progress, { pid }: Pick<StandbyPosition, "pid">, nowMs: number): boolean {
  const behind = progress.get(pid);
  return behind !== undefined && nowMs - behind.since >= STALLED_MS;
}

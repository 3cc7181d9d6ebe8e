import { Fault } from "./fault.ts";
import { counted } from "./text.ts";

/** What an acknowledged change survives: nothing, a crash of the server, or the loss of its machine. */
export type Survival = "none" | "crash" | "machine";

export interface Standby {
  name: string;
  /** PostgreSQL's name for it, such as `streaming` or `catchup`. */
  state: string;
  sync: "sync" | "quorum" | "potential" | "async";
  /** Bytes of the log that the standby has not yet written to disk; null before its first report. */
  lagBytes: number | null;
}

/** A database server's own report of its settings and standbys. Times are ISO 8601. */
export interface ServerFacts {
  /** Such as 18.4. */
  version: string;
  fsync: boolean;
  /** If off, a crash of the machine may leave a half-written page. */
  fullPageWrites: boolean;
  /** The level for acknowledged changes: the session's level if that waits for a disk. Never `off`. */
  synchronousCommit: string;
  synchronousStandbyNames: string;
  /** Null if the role may not see them. */
  standbys: Standby[] | null;
  walLevel: string;
  archive: { mode: string; lastArchivedAt: string | null; lastFailedAt: string | null; failed: number };
  /** A program that changes `synchronous_standby_names` automatically. */
  manager: "Patroni" | "CloudNativePG" | null;
}

/** The guarantees that follow from the facts. */
export interface Promises {
  /** Whether a commit waits for a standby. */
  waits: boolean;
  /** Whether commits keep waiting after all standbys are lost; null if unknown. */
  strict: boolean | null;
  /** The smaller number: the standbys for which each commit waits, or those connected. */
  synchronousStandbys: number;
  survives: Survival;
}

const WAITING = new Set(["on", "remote_write", "remote_apply"]);

/** Pure. A standby that the role cannot see counts as away. */
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
 * PostgreSQL itself waits as long as its setting names standbys. Patroni and CloudNativePG empty the setting with the
 * last standby unless configured otherwise, which is stored outside the database. Patroni's strict mode leaves `*`.
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
  /** The primary's `host:port`. */
  host: string;
  /** The number of standbys that the tenant file requires to have every acknowledged change. */
  required: number;
  lastBackupAt: string | null;
  checkedAt: string;
}

/** Why changes are refused, if fewer standbys than required are connected. */
export function standbysMissing(
  { synchronousStandbys, standbys }: Pick<DatabaseState, "synchronousStandbys" | "standbys">,
  required: number,
): Fault | undefined {
  if (synchronousStandbys >= required) return undefined;
  const unseen = standbys === null ? "; the database's owner may not see them" : "";
  const text = `Changes are refused: ${counted(required, "synchronous standby")} required, ${synchronousStandbys} connected${unseen}`;
  return new Fault("STANDBY_REQUIRED", text);
}

/** Whether a commit would wait for a standby that is away. False if the standbys are unknown. Pure. */
export function waitsInVain({
  waits,
  synchronousStandbys,
  synchronousStandbyNames,
  standbys,
}: Pick<DatabaseState, "waits" | "synchronousStandbys" | "synchronousStandbyNames" | "standbys">): boolean {
  return waits && standbys !== null && synchronousStandbys < standbysToWaitFor(synchronousStandbyNames);
}

/** Warnings for operators when a server starts. @param state null while the database is away */
export function warningsOf(state: Pick<DatabaseState, "survives" | "waits"> | null): string[] {
  if (state === null) return ["The database does not report whether it has a synchronous standby"];
  if (state.survives === "machine") return [];
  const standby = state.waits ? "the synchronous standby is away" : "there is no synchronous standby";
  if (state.survives === "crash") return [`An acknowledged change is lost with the database's machine: ${standby}`];
  return [`An acknowledged change may be lost in a crash: fsync is off, and ${standby}`];
}

/** A standby in one reading of `pg_stat_replication`. */
export interface StandbyPosition {
  /** The process that sends the log to the standby; a standby that reconnects gets another process. */
  pid: number;
  /** The end of the log on the standby's disk, in PostgreSQL's notation; null before its first report. */
  flushed: string | null;
  /** The further bytes of the primary's log. */
  lagBytes: number | null;
}

/** The position of each standby that lags, and since when it is there (ms of any steady clock), by `pid`. */
export type Progress = ReadonlyMap<number, { flushed: string | null; since: number }>;

/**
 * How long a standby that lags may stay at one position. Shorter pauses of a network or disk end by themselves, and
 * commits wait for them.
 */
const STALLED_MS = 2500;

/**
 * Adds a reading. A standby with the whole log, or with more than before, counts as connected. Only a standby that made
 * no progress although there is more keeps its time.
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
 * Whether a standby makes no progress although there is more: it is frozen or cut off, and PostgreSQL counts it as
 * connected until `wal_sender_timeout`. The time of its last message says less, since it comes only every 10 s by default.
 */
export function isStalled(progress: Progress, { pid }: Pick<StandbyPosition, "pid">, nowMs: number): boolean {
  const behind = progress.get(pid);
  return behind !== undefined && nowMs - behind.since >= STALLED_MS;
}

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findSite } from "../../src/postgres/embedded/home.ts";

/** Microseconds of a core, of user and system together. */
export interface CpuTimes {
  server: number;
  postgres: number;
}

interface ProcessTimes {
  parent: number;
  /** Ticks of the process itself. */
  own: number;
  /** Ticks of its children that have ended. */
  reaped: number;
}

/** The kernel counts in hundredths of a second for programs, whatever its own clock does. */
export const US_PER_TICK = 10_000;

/** Reads a line of /proc/<pid>/stat (proc(5)): the name in brackets may hold anything, so fields count from its end. */
export function parseStat(text: string): ProcessTimes {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [parent, user, system, reapedUser, reapedSystem] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]));
  return {
    parent: parent ?? 0,
    own: (user ?? 0) + (system ?? 0),
    reaped: (reapedUser ?? 0) + (reapedSystem ?? 0),
  };
}

/**
 * CPU time so far of the servers with these pids, and of the embedded PostgreSQL of a directory: the postmaster, its
 * children, and those that ended. Undefined on a machine without /proc.
 */
export function cpuTimes(serverPids: readonly number[], directory: string): CpuTimes | undefined {
  if (!existsSync("/proc/self/stat")) return undefined;
  const postmaster = postmasterOf(directory);
  const times: CpuTimes = { server: 0, postgres: 0 };
  for (const name of readdirSync("/proc")) {
    const found = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
    if (found === undefined) continue;
    const pid = Number(name);
    if (serverPids.includes(pid)) times.server += found.own * US_PER_TICK;
    if (pid === postmaster) times.postgres += (found.own + found.reaped) * US_PER_TICK;
    if (found.parent === postmaster) times.postgres += found.own * US_PER_TICK;
  }
  return times;
}

/** The process id of the embedded PostgreSQL of a directory. */
export function postmasterOf(directory: string): number {
  return Number(readFileSync(join(findSite(directory).dataDir, "postmaster.pid"), "utf8").split("\n")[0]);
}

/** A process and all that come from it. */
export function familyOf(pid: number): number[] {
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && statOf(Number(name))?.parent === pid);
  return [pid, ...children.flatMap((child) => familyOf(Number(child)))];
}

/** Memory of processes in MB (millions of bytes), in which a page that several share counts once; 0 of one that has ended. */
export function proportionalMb(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => {
    try {
      const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
      return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0);
    } catch {
      return 0;
    }
  });
  return (kilobytes.reduce((sum, each) => sum + each, 0) * 1024) / 1e6;
}

/** Undefined for a process that has ended since it was listed. */
function statOf(pid: number): ProcessTimes | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Memory of a process in MB (millions of bytes) that is resident now, and the most that ever was; undefined without /proc. */
export function memoryOf(pid: number): { nowMb: number; peakMb: number } | undefined {
  if (!existsSync("/proc/self/status")) return undefined;
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const mb = (field: string) => (Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text)?.[1]) * 1024) / 1e6;
  return { nowMb: mb("VmRSS"), peakMb: mb("VmHWM") };
}

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What every system allows at least. */
const USUAL_LIMIT = 256;

/**
 * How many files and sockets this process may have open at a time. Node.js raises the soft limit to the hard one when it
 * starts, on every system that has them, so that the limit read here is the raised one and its children inherit it.
 */
export function descriptorLimit(): number {
  return fromProc() ?? fromShell() ?? USUAL_LIMIT;
}

function fromProc(): number | undefined {
  try {
    return softLimitOf(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return undefined;
  }
}

/** The soft limit of open files in the text of `/proc/<pid>/limits`. */
export function softLimitOf(limits: string): number | undefined {
  return parseLimit(/^Max open files\s+(\S+)/m.exec(limits)?.[1]);
}

function fromShell(): number | undefined {
  try {
    return parseLimit(execFileSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "utf8", timeout: 1000 }).trim());
  } catch {
    return undefined;
  }
}

function parseLimit(text: string | undefined): number | undefined {
  if (text === "unlimited") return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  return Number.isInteger(limit) && limit > 0 ? limit : undefined;
}

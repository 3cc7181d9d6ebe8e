import { readBounded, UnusableFile } from "../../config/bounded-file.ts";
import { isErrno } from "../../config/environment.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { withLock } from "../../state/lock.ts";
import { createStateFolder, StateError, statePath, writeWhole } from "../../state/state-directory.ts";
import { FleetRun } from "./fleet-run.ts";

/** Some 10,000 tenants with all that was found of each. */
const MOST_KIB = 64 * 1024;

/** Where an operator's directory keeps its last run: a pipeline that keeps this file goes on with the run elsewhere. */
export const runFile = (directory: string) => statePath(directory, "fleet", "run.json");

/**
 * The last run of the directory; undefined where there is none.
 * @throws Fault CONFIG_INVALID for a file that is none or holds no run: what was applied is then not known
 */
export function readRun(directory: string): FleetRun | undefined {
  const file = runFile(directory);
  let text: string;
  try {
    text = readBounded(file, MOST_KIB).bytes.toString("utf8");
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    const { cause } = error;
    if (isErrno(cause) && (cause.code === "ENOENT" || cause.code === "ENOTDIR")) return undefined;
    throw new Fault("CONFIG_INVALID", `${file} ${error.message}: --restart begins anew and replaces it`, { cause });
  }
  const run = FleetRun.safeParse(parseJson(text));
  if (!run.success)
    throw new Fault("CONFIG_INVALID", `${file} holds no run of this version: --restart begins anew and replaces it`);
  return run.data;
}

/** Replaces the kept run at once: whenever the machine stops, the file holds this run or the one before. */
export function writeRun(directory: string, run: FleetRun): void {
  writeWhole(runFile(directory), `${JSON.stringify(run)}\n`);
}

/**
 * Does the work of a run while no other process carries out one in this directory. The kernel gives the lock back when its
 * holder dies, however it dies.
 * @throws Fault REFUSED when another process carries out a run
 */
export async function whileAlone<Value>(directory: string, work: () => Promise<Value>): Promise<Value> {
  createStateFolder(directory, "fleet");
  let isIn = false;
  try {
    return await withLock(statePath(directory, "fleet", "lock"), 0, "carrying out a fleet's run", () => {
      isIn = true;
      return work();
    });
  } catch (error) {
    // With a cause it is the lock file that cannot be used.
    if (isIn || !(error instanceof StateError) || error.cause !== undefined) throw error;
    throw new Fault("REFUSED", "Another `pmctl fleet apply` of this directory is at work; nothing was written");
  }
}

/** The last run as it is now: one that says it is running and whose process is gone was interrupted. */
export async function currentRun(directory: string): Promise<FleetRun | undefined> {
  const run = readRun(directory);
  if (run?.state !== "running") return run;
  try {
    // Read again: it may have ended just now.
    return await whileAlone(directory, async () => {
      const last = readRun(directory);
      return last?.state === "running" ? { ...last, state: "interrupted" } : last;
    });
  } catch (error) {
    if (error instanceof Fault && error.code === "REFUSED") return run;
    throw error;
  }
}

import { createHash } from "node:crypto";
import { join } from "node:path";
import { readBounded, readConfigFile, UnusableFile } from "../../config/bounded-file.ts";
import { ConfigError } from "../../config/config-error.ts";
import { isErrno } from "../../config/environment.ts";
import { FLEET_FILE } from "../../config/selection/fleet-file.ts";
import { loadTenant } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { documentOf } from "../../plan/plan-document.ts";
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

/** Digest of the fleet's file and of everything that the tenants' files say, bases and markets included. */
export function digestOfFiles(directory: string, tenants: readonly string[]): string {
  const digest = createHash("sha256").update(readConfigFile(join(directory, FLEET_FILE)));
  for (const tenant of tenants) digest.update(`\n${tenant} ${digestOfTenant(tenantPath(directory, tenant))}`);
  return digest.digest("hex");
}

/** Of a file with problems these stand for it: once they are mended, the files have changed. */
function digestOfTenant(file: string): string {
  try {
    const { config, markets } = loadTenant(file);
    return `${config.source.sha256} ${canonicalJson(documentOf(config, markets, []).declared)}`;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

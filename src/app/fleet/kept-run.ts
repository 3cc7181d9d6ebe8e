import { createHash } from "node:crypto";
import { join } from "node:path";
import { readBounded, readConfigFile, UnusableFile } from "../../config/bounded-file.ts";
import { ConfigError } from "../../config/config-error.ts";
import { isErrno } from "../../config/environment.ts";
import { FLEET_FILE } from "../../config/selection/names.ts";
import { loadTenant } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { documentOf } from "../../plan/plan-document.ts";
import { withLock } from "../../state/lock.ts";
import { createStateFolder, StateError, statePath, writeWhole } from "../../state/state-directory.ts";
import { FleetRun } from "./fleet-run.ts";

/** Enough for some 10,000 tenants with all their findings. */
const MOST_KIB = 64 * 1024;

/** The file of a directory's last run. A pipeline that keeps this file can continue the run elsewhere. */
export const runFile = (directory: string) => statePath(directory, "fleet", "run.json");

/**
 * The last run of the directory; undefined before the first.
 * @throws Fault CONFIG_INVALID for a file without a valid run: what was applied is then unknown
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
    throw new Fault("CONFIG_INVALID", `${file} ${error.message}: --restart replaces it by a new run`, { cause });
  }
  const run = FleetRun.safeParse(parseJson(text));
  if (!run.success) throw new Fault("CONFIG_INVALID", `${file} has no run of this version: --restart replaces it`);
  return run.data;
}

/** Replaces the stored run atomically: whenever the machine stops, the file has this run or the previous one. */
export function writeRun(directory: string, run: FleetRun): void {
  writeWhole(runFile(directory), `${JSON.stringify(run)}\n`);
}

/**
 * Works on a run while no other process works on one in this directory. The kernel releases the lock when its holder
 * dies.
 * @throws Fault REFUSED while another process works on a run
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
    // An error with a cause is about the lock file itself.
    if (isIn || !(error instanceof StateError) || error.cause !== undefined) throw error;
    throw new Fault("REFUSED", "Another `pmctl fleet apply` of this directory is running; nothing was written");
  }
}

/** The last run with its present state: a running run without its process was interrupted. */
export async function currentRun(directory: string): Promise<FleetRun | undefined> {
  const run = readRun(directory);
  if (run?.state !== "running") return run;
  try {
    // Read again, because the run may have ended just now.
    return await whileAlone(directory, async () => {
      const last = readRun(directory);
      return last?.state === "running" ? { ...last, state: "interrupted" } : last;
    });
  } catch (error) {
    if (error instanceof Fault && error.code === "REFUSED") return run;
    throw error;
  }
}

/** Digest of the fleet's file and of all tenants' files, including bases and markets. */
export function digestOfFiles(directory: string, tenants: readonly string[]): string {
  const digest = createHash("sha256").update(readConfigFile(join(directory, FLEET_FILE)));
  for (const tenant of tenants) digest.update(`\n${tenant} ${digestOfTenant(tenantPath(directory, tenant))}`);
  return digest.digest("hex");
}

/** The problems replace a file that has any: once they are fixed, the files have changed. */
function digestOfTenant(file: string): string {
  try {
    const { config, markets } = loadTenant(file);
    return `${config.source.sha256} ${canonicalJson(documentOf(config, markets, []).declared)}`;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isErrno } from "../environment.ts";

export const DEMO_TENANT = "demo";

/** The tenant file that `pmctl demo` serves where the directory has none of its own. */
export const PACKAGED_DEMO = fileURLToPath(new URL(`../../../tenants/${DEMO_TENANT}/tenant.yaml`, import.meta.url));

/** Where servers announce themselves to commands of the directory, in files of `<tenant>-<pid>.json`. */
export function serversFolder(directory: string): string {
  return join(directory, ".pmctl", "servers");
}

/** Whether a `pmctl demo` runs in the directory. */
export function demoRuns(directory: string): boolean {
  const folder = serversFolder(directory);
  if (!existsSync(folder)) return false;
  const pids = readdirSync(folder).flatMap(
    (name) => new RegExp(`^${DEMO_TENANT}-(\\d+)\\.json$`).exec(name)?.[1] ?? [],
  );
  return pids.some((pid) => isAlive(Number(pid)));
}

/** Signal 0 checks for the process; EPERM means that it lives and is another user's. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error) && error.code === "EPERM";
  }
}

import { existsSync } from "node:fs";
import { open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../state/state-directory.ts";
import type { Site } from "./home.ts";

// The position of the state in global/pg_control, an int32 in the machine's byte order. The preceding layout has not
// changed since PostgreSQL 8. https://github.com/postgres/postgres/blob/REL_18_STABLE/src/include/catalog/pg_control.h
const stateOffset = 16;
const stateShutDown = 1;

/** Records before a stop that the server should be down, even if it has already crashed. */
export async function markStopped(home: string): Promise<void> {
  try {
    // Exclusive, so that root never writes through a link that the home's owner may have placed there.
    await writeFile(markOf(home), "", { flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Records that the server should run. */
export async function clearStopped(home: string): Promise<void> {
  await rm(markOf(home), { force: true });
}

/**
 * Whether the server was ended on purpose: by `stop()`, or by another orderly shutdown (`kill`, `pg_ctl`), which
 * PostgreSQL records. After a crash the record is "in production".
 */
export async function endedOnPurpose(site: Site): Promise<boolean> {
  if (existsSync(markOf(site.home))) return true;
  await using control = await open(join(site.dataDir, "global/pg_control"));
  const { buffer } = await control.read({ buffer: new Int32Array(1), position: stateOffset });
  return buffer[0] === stateShutDown;
}

function markOf(home: string): string {
  return join(home, "stopped");
}

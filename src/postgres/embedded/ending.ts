import { existsSync } from "node:fs";
import { open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../state/state-directory.ts";
import type { Site } from "./home.ts";

// Where the state lies in global/pg_control, an int32 in the machine's byte order; the layout before it has not changed
// since PostgreSQL 8. https://github.com/postgres/postgres/blob/REL_18_STABLE/src/include/catalog/pg_control.h
const stateOffset = 16;
const stateShutDown = 1;

/** Records that the server is meant to be down, before it is stopped, also when it had crashed already. */
export async function markStopped(home: string): Promise<void> {
  try {
    // Exclusively, so that root never writes through a link that the home's owner may have put there.
    await writeFile(markOf(home), "", { flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Records that the server is meant to run. */
export async function clearStopped(home: string): Promise<void> {
  await rm(markOf(home), { force: true });
}

/**
 * Whether the server that is not running now was ended on purpose: by `stop()`, or by an orderly shutdown that was
 * asked for otherwise (`kill`, `pg_ctl`), which PostgreSQL records. After a crash it has recorded "in production".
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

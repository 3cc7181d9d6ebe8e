import { mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

/**
 * Where Node.js keeps compiled code from one run to the next: in the user's cache, because the package's own folder may be
 * read-only or another user's, and Node's own place is a /tmp that every user can write to.
 *
 * What lies there is executed. So the directory counts only where no other user can change or replace it: under `sudo`,
 * `HOME` may still be the caller's.
 *
 * @returns undefined where there is no such directory; then each run compiles anew
 */
export function compileCacheDirectory() {
  const { XDG_CACHE_HOME: stated = "" } = process.env;
  try {
    const home = isAbsolute(stated)
      ? stated
      : join(homedir(), process.platform === "darwin" ? "Library/Caches" : ".cache");
    const directory = join(home, "pmctl", "compiled");
    // Before anything is made: nothing of root's belongs into another user's home. `HOME` may be empty, which is the current directory.
    if (!isAbsolute(home) || !isOnlyOurs(home)) return undefined;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return isOnlyOurs(realpathSync(directory)) ? directory : undefined;
  } catch {
    return undefined;
  }
}

/** Whether no other user but root can change a directory or any above it, where they exist. */
function isOnlyOurs(directory) {
  const found = statSync(directory, { throwIfNoEntry: false });
  const parent = dirname(directory);
  const isClosed =
    found === undefined ||
    // In a sticky directory such as /tmp others cannot replace what is ours.
    ([0, process.geteuid?.()].includes(found.uid) && ((found.mode & 0o022) === 0 || (found.mode & 0o1000) !== 0));
  return isClosed && (parent === directory || isOnlyOurs(parent));
}

import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * A digest of everything that the build depends on, by content: file times change with every checkout.
 * Returns undefined where there are no sources, as in an installed package.
 */
export function sourceFingerprint(root) {
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  try {
    const source = sourcesOf(root);
    const files = [...below(source)].filter((path) => /\.(tsx?|css|js|json)$/.test(path));
    for (const path of files.sort()) hash.update(`${path.slice(source.length)}\n`).update(readFileSync(path));
  } catch {
    return undefined;
  }
  return hash.digest("hex");
}

/**
 * Whether dist/ was built from the sources as they are now. Reading all of them takes as long as a short command, so that
 * happens only where a file or folder of src/ has changed since the build. The time of the change (ctime) decides: unlike
 * the time that a file states, no copy or archive sets it.
 */
export function isBuildCurrent(root) {
  const stamp = fileURLToPath(new URL("dist/fingerprint", root));
  try {
    const builtAt = statSync(stamp).ctimeMs;
    const source = sourcesOf(root);
    // A folder changes with each name that comes or goes.
    const isUnchanged = [source, ...below(source)].every((path) => statSync(path).ctimeMs < builtAt);
    return isUnchanged || readFileSync(stamp, "utf8") === sourceFingerprint(root);
  } catch {
    return false;
  }
}

function sourcesOf(root) {
  return fileURLToPath(new URL("src", root));
}

/** Every file and folder, by its path. Node's own recursive listing takes three times as long. */
function* below(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    yield path;
    if (entry.isDirectory()) yield* below(path);
  }
}

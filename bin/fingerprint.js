import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

/**
 * A digest of everything that the build depends on, by content: file times change with every checkout.
 * Returns undefined where there are no sources, as in an installed package.
 */
export function sourceFingerprint(root) {
  let names;
  try {
    names = readdirSync(new URL("src/", root), { recursive: true });
  } catch {
    return undefined;
  }
  const hash = createHash("sha256");
  for (const name of names.filter((name) => /\.(tsx?|css|js|json)$/.test(name)).sort()) {
    hash.update(`${name}\n`).update(readFileSync(new URL(`src/${name}`, root)));
  }
  return hash.digest("hex");
}

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What earlier runs found worth keeping: one case a file, in a folder of the target's name. */
export function storedSeeds(target: string): Buffer[] {
  const folder = join(import.meta.dirname, "seeds", target);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(join(folder, name)));
}

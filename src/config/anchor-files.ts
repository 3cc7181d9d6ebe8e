import { statSync } from "node:fs";
import { matchesGlob, resolve } from "node:path";
import { statedTargets } from "./audit-schema.ts";
import type { Finding } from "./config-error.ts";
import type { Draft } from "./rules.ts";

/**
 * A file of anchors is for anchors alone: what is appended elsewhere would spoil the configuration or the secrets.
 *
 * @param file the tenant file
 * @param directory the tenant's folder, absolute
 */
export function anchorFilesAreTheirOwn({ audit, markets }: Draft, file: string, directory: string): Finding[] {
  const seen = new Set<string>();
  return (audit ? statedTargets(audit) : []).flatMap(({ target, path }) => {
    if (!("file" in target)) return [];
    const place = resolve(directory, target.file);
    const problem = problemOf(place);
    seen.add(place);
    return problem === undefined ? [] : [{ path: [...path, "file"], message: `must be a file of its own: ${problem}` }];
  });

  function problemOf(place: string): string | undefined {
    if (seen.has(place)) return "this one is a target already";
    if (place === resolve(file)) return "this is the tenant file";
    // The operator's directory holds the variables, and so may the tenant's folder.
    if (place === resolve(directory, "../..", ".env") || place === resolve(directory, ".env"))
      return "this holds secrets";
    if ((markets?.files ?? []).some((pattern) => matchesGlob(place, resolve(directory, pattern))))
      return "this is a market file";
    return statSync(place, { throwIfNoEntry: false })?.isDirectory() ? "this is a folder" : undefined;
  }
}

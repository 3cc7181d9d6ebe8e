import { type Dirent, readdirSync, statSync } from "node:fs";
import { isAbsolute, join, posix, relative } from "node:path";
import { isBelow, realPlace } from "../bounded-file.ts";
import type { Finding } from "../config-error.ts";
import { isErrno } from "../environment.ts";
import { isWild, matcher, Unusable } from "../wildcards.ts";

/** More files than any tenant's markets need: a mistake, or an attempt to keep the command busy. */
const MOST_FILES = 1000;
const MOST_ENTRIES = 5000;
const MOST_LEVELS = 8;
const MOST_BYTES = 32 * 1024 * 1024;

/** Refuses patterns of `markets.files` that lead out of the tenant's folder by their text; links are followed later. */
export function marketFilesStayBelow({ markets }: { markets?: { files: readonly string[] } | undefined }): Finding[] {
  return (markets?.files ?? []).flatMap((pattern, index) => {
    if (!leadsOut(pattern)) return [];
    return [
      { path: ["markets", "files", index], message: "must be below the tenant's folder: without .. or a leading /" },
    ];
  });
}

/** `..` counts inside braces and parentheses too. */
function leadsOut(pattern: string): boolean {
  return isAbsolute(pattern) || pattern.split(/[/\\{},()|]/).includes("..");
}

/**
 * The files that match patterns, in the order of the patterns and of their names. Each pattern stays below the folder,
 * after following links, and too long a walk ends with a finding. A name without wildcards is kept even if the file is
 * missing, so that reading it reports the missing file.
 *
 * @param directory the tenant's folder
 */
export function matchMarketFiles(
  directory: string,
  patterns: readonly string[],
): { files: string[]; findings: Finding[] } {
  const budget = { files: MOST_FILES, entries: MOST_ENTRIES, bytes: MOST_BYTES };
  const files = new Set<string>();
  const findings = patterns.flatMap((pattern, index): Finding[] => {
    // `marketFilesStayBelow` reports it.
    if (leadsOut(pattern)) return [];
    try {
      for (const name of matching(directory, posix.normalize(pattern), budget)) {
        const file = join(directory, name);
        if (!files.has(file)) spend(file, budget);
        files.add(file);
      }
      return [];
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      return [{ path: ["markets", "files", index], message: error.message }];
    }
  });
  // If a pattern is refused, no file is read.
  return { files: findings.length > 0 ? [] : [...files], findings };
}

/** Whether a pattern matches a name relative to the tenant's folder; unusable patterns match nothing. */
export function isMarketFile(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    try {
      return matcher(posix.normalize(pattern))(name);
    } catch (error) {
      if (error instanceof Unusable) return false;
      throw error;
    }
  });
}

interface Budget {
  files: number;
  entries: number;
  bytes: number;
}

function spend(file: string, budget: Budget): void {
  budget.files -= 1;
  budget.bytes -= statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (budget.files < 0) throw new Unusable(`there are more than ${MOST_FILES} market files`);
  if (budget.bytes < 0) throw new Unusable(`the market files contain more than ${MOST_BYTES / 1024 / 1024} MiB`);
}

function matching(directory: string, pattern: string, budget: Budget): string[] {
  if (!isWild(pattern)) {
    refuseOutside(directory, pattern);
    return [pattern];
  }
  const steps = pattern.split("/");
  const start = steps.slice(0, steps.findIndex(isWild)).join("/");
  const levels = pattern.includes("**") ? Number.POSITIVE_INFINITY : steps.length;
  return walk(directory, { name: start, isMatch: matcher(pattern), levels }, budget).toSorted();
}

function walk(
  directory: string,
  { name: start, isMatch, levels }: { name: string; isMatch: (name: string) => boolean; levels: number },
  budget: Budget,
): string[] {
  const found: string[] = [];
  const visited = new Set<string>();
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    // A link may lead to a folder that was already walked, such as its parent.
    const place = realPlace(join(directory, name));
    if (visited.has(place)) continue;
    visited.add(place);
    for (const entry of entriesOf(join(directory, name))) {
      budget.entries -= 1;
      if (budget.entries < 0)
        throw new Unusable(`searches more than ${MOST_ENTRIES} files: name the folder of the market files`);
      const child = posix.join(name, entry.name);
      const depth = child.split("/").length;
      const kind = kindOf(join(directory, child), entry);
      if (kind === "file" && isMatch(child)) {
        refuseOutside(directory, child);
        found.push(child);
      }
      if (kind !== "folder" || depth >= levels) continue;
      refuseOutside(directory, child);
      if (depth > MOST_LEVELS) throw new Unusable(`looks more than ${MOST_LEVELS} folders deep, at ${child}`);
      open.push(child);
    }
  }
  return found;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error) && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw new Unusable(`${relative(process.cwd(), folder)} cannot be read`);
  }
}

function kindOf(path: string, entry: Dirent): "file" | "folder" | undefined {
  const stats = entry.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : entry;
  if (stats?.isFile()) return "file";
  return stats?.isDirectory() ? "folder" : undefined;
}

function refuseOutside(directory: string, name: string): void {
  if (!isBelow(join(directory, name), [directory]))
    throw new Unusable(`${name} leads out of the tenant's folder: market files must be below it`);
}

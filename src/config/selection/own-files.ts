import { lstatSync, type Stats } from "node:fs";

/** Whether the object belongs to the user who runs this process; always true if files have no owners. */
export function isOwn({ uid }: Pick<Stats, "uid">): boolean {
  const own = process.geteuid?.();
  return own === undefined || uid === own;
}

/** Whether each of these paths exists, without following links, and belongs to the user who runs this process. */
export function areOwn(paths: readonly string[]): boolean {
  try {
    return paths.every((path) => isOwn(lstatSync(path)));
  } catch {
    return false;
  }
}

import { lstatSync, type Stats } from "node:fs";

/** Whether what was found belongs to the user who runs this process; everything does where files have no owners. */
export function isOwn({ uid }: Pick<Stats, "uid">): boolean {
  const own = process.geteuid?.();
  return own === undefined || uid === own;
}

/** Whether there is something at each of these paths, links not followed, that belongs to the user who runs this process. */
export function areOwn(paths: readonly string[]): boolean {
  try {
    return paths.every((path) => isOwn(lstatSync(path)));
  } catch {
    return false;
  }
}

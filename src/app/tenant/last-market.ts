import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { OperatorTenant } from "./operator-tenant.ts";

type Place = Pick<OperatorTenant, "directory" | "id">;

const folderOf = (directory: string) => join(directory, ".pmctl", "last-market");

/** The id of the market that a command of this directory created last for the tenant; undefined before the first. */
export async function readLastMarket({ directory, id }: Place): Promise<string | undefined> {
  const text = await readFile(join(folderOf(directory), id), "utf8").catch(() => "");
  return text.trim() || undefined;
}

/** Remembers the market that was just created, for `@last`. The market stands whether or not this can be written. */
export async function keepLastMarket({ directory, id }: Place, market: string): Promise<void> {
  const { createRoot } = await import("../../postgres/embedded/home.ts");
  const folder = folderOf(directory);
  const file = join(folder, id);
  try {
    await createRoot(join(directory, ".pmctl"));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, `${market}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch {
    // A directory that cannot be written, as in a container: `@last` is not known there.
  }
}

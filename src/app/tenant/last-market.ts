import { readFile } from "node:fs/promises";
import { createStateFolder, statePath, writeWhole } from "../../state/state-directory.ts";
import type { OperatorTenant } from "./operator-tenant.ts";

type Named = Pick<OperatorTenant, "directory" | "id">;

/** The id of the market that a command of this directory created last for the tenant; undefined before the first. */
export async function readLastMarket({ directory, id }: Named): Promise<string | undefined> {
  const text = await readFile(statePath(directory, "last-market", id), "utf8").catch(() => "");
  return text.trim() || undefined;
}

/** Remembers the market that was just created, for `@last`. The market exists even if this cannot be written. */
export async function keepLastMarket({ directory, id }: Named, market: string): Promise<void> {
  try {
    createStateFolder(directory, "last-market");
    writeWhole(statePath(directory, "last-market", id), `${market}\n`);
  } catch {
    // `@last` is unknown in a directory that cannot be written, such as in a container.
  }
}

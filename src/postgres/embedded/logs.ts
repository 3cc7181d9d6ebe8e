import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing } from "../../state/state-directory.ts";
import type { Account } from "./account.ts";

const shownLines = 15;
const shownBytes = 8192;

/** The output of a server before its log collector starts, such as the reason of a failed start. */
export function startLog(home: string): string {
  return join(home, "start.log");
}

/** Creates an empty start log, owned by the account, and returns it open for writing. */
export async function openStartLog(home: string, account: Account) {
  // A new file each time: an existing one may belong to root, and an ordinary user must be able to start later.
  await rm(startLog(home), { force: true });
  const file = await open(startLog(home), "wx", 0o600);
  if (!account.isCaller) await file.chown(account.uid, account.gid);
  return file;
}

/** The last lines of the start log and of the newest log file, each below its path; empty if there are none. */
export async function lastWords(home: string): Promise<string> {
  const directory = join(home, "log");
  const paths = (await unlessMissing(readdir(directory), [])).map((name) => join(directory, name));
  const dated = await Promise.all(paths.map(async (path) => ({ path, modifiedMs: (await stat(path)).mtimeMs })));
  const newest = dated.toSorted((a, b) => b.modifiedMs - a.modifiedMs).slice(0, 1);
  const parts = await Promise.all(
    [startLog(home), ...newest.map(({ path }) => path)].map(async (path) => ({ path, text: await lastLines(path) })),
  );
  return parts
    .filter(({ text }) => text !== "")
    .map(({ path, text }) => `--- ${path}\n${text}`)
    .join("\n");
}

/** The last lines of a file, reading only its end; empty if it is missing. */
export async function lastLines(path: string): Promise<string> {
  const file = await unlessMissing(open(path), undefined);
  if (!file) return "";
  await using _closed = file;
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read({
    buffer: Buffer.alloc(shownBytes),
    position: Math.max(0, size - shownBytes),
  });
  return buffer.toString("utf8", 0, bytesRead).trimEnd().split("\n").slice(-shownLines).join("\n");
}

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type AnchorLine, isGenuine, parseAnchor } from "../../domain/audit/anchor.ts";
import { ANCHOR_HEAD_BYTES, beginsAsAnchors } from "../../domain/audit/anchor-text.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { createStateFolder, renameForGood, statePath } from "../../state/state-directory.ts";
import { openRegular } from "./anchor-scan.ts";

/** Beyond this size the directory's own file is compacted. */
const COMPACT_BYTES = 256 * 1024;
/** How many of the newest lines remain then, in addition to the line of the highest entry. */
const KEPT_LINES = 200;

/** `.pmctl/anchors/<tenant>.ndjson` of an operator's directory. */
export function directoryAnchors(directory: string, tenant: string): string {
  return statePath(directory, "anchors", `${tenant}.ndjson`);
}

async function readFrom(handle: FileHandle, from: number, length: number): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from);
  return buffer.toString("utf8", 0, bytesRead);
}

/**
 * Appends a line and waits for the disk; does nothing if the line is the file's last line. It first completes a line
 * that a crash cut short, so that the two do not merge. If another process has meanwhile replaced the file by a
 * compacted one, the line is appended to the new file too.
 *
 * @param isOurs false for a file named in a tenant file: it must not be a link and must hold only this tenant's anchors
 */
export async function appendAnchor(file: string, anchor: AnchorLine, isOurs = true): Promise<void> {
  const line = `${JSON.stringify(anchor)}\n`;
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (isOurs ? 0 : constants.O_NOFOLLOW);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  for (let isInPlace = false; !isInPlace; ) {
    await using handle = await openRegular(file, flags);
    if (!isOurs && !beginsAsAnchors(await readFrom(handle, 0, ANCHOR_HEAD_BYTES), anchor.tenant))
      throw new Error(`${file} contains other data than anchors of ${anchor.tenant}`);
    const { size, ino } = await handle.stat();
    const end = await readFrom(handle, Math.max(0, size - Buffer.byteLength(line) - 1), Buffer.byteLength(line) + 1);
    if (end !== line && !end.endsWith(`\n${line}`)) {
      await handle.appendFile(size === 0 || end.endsWith("\n") ? line : `\n${line}`);
    }
    await handle.sync();
    isInPlace = (await stat(file)).ino === ino;
  }
}

/**
 * Appends to the directory's own file, creates it if necessary, and keeps it small.
 * @param keys lines signed by other keys are dropped when the file is compacted
 */
export async function appendToDirectory(
  directory: string,
  anchor: AnchorLine,
  keys: readonly AuditKey[],
): Promise<void> {
  const file = directoryAnchors(directory, anchor.tenant);
  createStateFolder(directory, "anchors");
  await appendAnchor(file, anchor);
  await compact(file, anchor.tenant, keys);
}

/**
 * Keeps the newest lines and the line of the highest entry. Another process may append at any moment: lines that it
 * meanwhile wrote to the old file are copied, and a later writer notices that the file was replaced.
 */
async function compact(file: string, tenant: string, keys: readonly AuditKey[]): Promise<void> {
  await using old = await open(file, "r");
  const { size, ino } = await old.stat();
  if (size <= COMPACT_BYTES) return;
  const anchors = (await readFrom(old, 0, size))
    .split("\n")
    .flatMap((line) => parseAnchor(line) ?? [])
    // Foreign lines must not displace ours.
    .filter((each) => each.tenant === tenant && isGenuine(each, keys));
  const highest = anchors.reduce((high, each) => (each.seq > high.seq ? each : high), anchors[0] as AnchorLine);
  const kept = anchors.slice(-KEPT_LINES);
  const part = `${file}.${process.pid}.new`;
  {
    await using fresh = await open(part, "w", 0o600);
    for (const each of kept.includes(highest) ? kept : [highest, ...kept])
      await fresh.appendFile(`${JSON.stringify(each)}\n`);
    await fresh.sync();
  }
  // Another process has compacted the file first.
  if ((await stat(file)).ino !== ino) return rm(part, { force: true });
  renameForGood(part, file);
  const late = await readFrom(old, size, (await old.stat()).size - size);
  for (const line of late.split("\n")) {
    const anchor = parseAnchor(line);
    if (anchor) await appendAnchor(file, anchor);
  }
}

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isErrno } from "../../config/environment.ts";
import { Fault } from "../../domain/fault.ts";
import { writeWhole } from "../../state/state-directory.ts";
import type { RenderedFile } from "./deployment.ts";

const STAMP = /^# Written by `pmctl deploy render`; a change by hand is recognised by sha256:([0-9a-f]{64})\n/;

/** Puts a line with the text's digest above it. Every format of a deployment takes that line for a comment. */
export function stamped(text: string): string {
  return `# Written by \`pmctl deploy render\`; a change by hand is recognised by sha256:${digestOf(text)}\n${text}`;
}

/** Whether a file is unchanged since it was rendered: its first line has the digest of the rest. */
function isAsWritten(content: string): boolean {
  const [line, digest] = STAMP.exec(content) ?? [];
  return line !== undefined && digestOf(content.slice(line.length)) === digest;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Endings of rendered files; other files of the folder may be large. */
const RENDERED = /\.(service|timer|target|conf|cfg|yaml)$/;

/** What writing a file changes, or would change. */
export interface FileState {
  /** Relative to the folder. */
  path: string;
  state: "created" | "changed" | "unchanged";
}

/** A file with its state, and whether a person changed the present one. */
type Compared = RenderedFile & FileState & { byHand: boolean };

/** Compares files with a folder; writes nothing. */
export function compareFiles(folder: string, files: readonly RenderedFile[]): Compared[] {
  return files.map((file) => {
    const there = contentOf(join(folder, file.path));
    if (there === undefined) return { ...file, state: "created", byHand: false };
    if (there === file.text) return { ...file, state: "unchanged", byHand: false };
    return { ...file, state: "changed", byHand: !isAsWritten(there) };
  });
}

/**
 * Writes the files that differ.
 *
 * @param overwrite also replaces files that were changed by hand
 * @throws Fault REFUSED when a file was changed by hand; then none is written
 */
export function writeFiles(folder: string, files: readonly Compared[], overwrite: boolean): void {
  const byHand = files.filter((file) => file.byHand).map(({ path }) => path);
  if (byHand.length > 0 && !overwrite)
    throw new Fault(
      "REFUSED",
      `${byHand.join(", ")} in ${folder} was changed by hand: --yes replaces it; nothing was written`,
    );
  for (const { path, text, state } of files) if (state !== "unchanged") writeRendered(join(folder, path), text);
}

/** Names of rendered files in a folder that are not among these. */
export function leftoversIn(folder: string, files: readonly RenderedFile[]): string[] {
  const rendered = new Set(files.map(({ path }) => path));
  const isOurs = (name: string) => RENDERED.test(name) && isAsWritten(contentOf(join(folder, name)) ?? "");
  return namesIn(folder).filter((name) => !rendered.has(name) && isOurs(name));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .toSorted();
  } catch (cause) {
    if (isErrno(cause) && cause.code === "ENOENT") return [];
    throw cause;
  }
}

/** Renamed into place, so that an interruption leaves no partial file, which would look like a change by hand. */
function writeRendered(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeWhole(file, text, { mode: 0o644 });
  } catch (cause) {
    if (!isErrno(cause)) throw cause;
    throw new Fault("USAGE", `${file} cannot be written (${cause.code})`, { cause });
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (!isErrno(cause)) throw cause;
    if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return undefined;
    throw new Fault("USAGE", `${file} cannot be read (${cause.code})`, { cause });
  }
}

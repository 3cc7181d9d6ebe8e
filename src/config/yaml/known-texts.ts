import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

/** The most files; the oldest go first. */
const MOST_FILES = 1000;
/** The most that one process writes: a command on hundreds of tenants does not slow down. */
const MOST_WRITES = 20;
/** A larger value is not kept. */
const MOST_BYTES = 256 * 1024;
const DIGEST_BYTES = 32;

/**
 * The value that an earlier command made from a text. Parsing a configuration file and decoding it by its schema takes
 * longer than the rest of a short command, and always gives the same value for the same text.
 *
 * The values are in files beside the code that V8 compiled, where no other user can change anything, and where each version
 * of Node.js has a folder of its own. A build reads only its own values. The sources, which are not built, keep none.
 *
 * @param kind what was made from the text
 * @param sha256 of the text
 */
export function recall(kind: string, sha256: string): { value: unknown } | undefined {
  const folder = folderOfValues();
  if (folder === undefined) return undefined;
  const name = nameOf(kind, sha256);
  try {
    const content = readFileSync(join(folder, name));
    const bytes = content.subarray(DIGEST_BYTES);
    // A machine that stopped may leave half of a file.
    if (!digest(bytes).equals(content.subarray(0, DIGEST_BYTES))) return undefined;
    kept.add(name);
    return { value: JSON.parse(bytes.toString()) };
  } catch {
    return undefined;
  }
}

/** The names of the values that this process read or wrote. */
const kept = new Set<string>();
let writes = 0;

/** Keeps a value that depends on nothing but the text. A folder that cannot be written is no error. */
export function keep(kind: string, sha256: string, value: unknown): void {
  const folder = folderOfValues();
  const name = nameOf(kind, sha256);
  if (folder === undefined || kept.has(name) || writes >= MOST_WRITES) return;
  kept.add(name);
  writes += 1;
  try {
    const json = JSON.stringify(value);
    const bytes = Buffer.from(json);
    // Only plain data comes back as it was.
    if (bytes.length > MOST_BYTES || !isDeepStrictEqual(JSON.parse(json), value)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeOldest(folder);
    const file = join(folder, name);
    const fresh = `${file}.${process.pid}`;
    writeFileSync(fresh, Buffer.concat([digest(bytes), bytes]), { mode: 0o600 });
    renameSync(fresh, file);
  } catch {
    // The next command makes the value again.
  }
}

/** Undefined where no values are kept. */
function folderOfValues(): string | undefined {
  const compiled = module.getCompileCacheDir();
  return compiled === undefined || nameOfBuild() === "" ? undefined : join(compiled, "values");
}

function nameOf(kind: string, sha256: string): string {
  return digest([nameOfBuild(), kind, sha256].join("\n")).toString("hex");
}

let build: string | undefined;

/** What identifies the code that makes the values: the build, and the package with the versions of its dependencies. */
function nameOfBuild(): string {
  build ??= read("../../fingerprint", "../../../package.json");
  return build;
}

/** The texts of files of the package; empty where one is missing. */
function read(...paths: string[]): string {
  try {
    return paths.map((path) => readFileSync(new URL(path, import.meta.url), "utf8")).join("\n");
  } catch {
    return "";
  }
}

function digest(content: string | Uint8Array): Buffer {
  return createHash("sha256").update(content).digest();
}

function removeOldest(folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  if (files.length < MOST_FILES) return;
  const byAge = files.map((file) => ({ file, at: statSync(file).mtimeMs })).toSorted((a, b) => a.at - b.at);
  for (const { file } of byAge.slice(0, MOST_FILES / 2)) rmSync(file, { force: true });
}

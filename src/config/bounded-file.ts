import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ConfigError, fileProblem } from "./config-error.ts";
import { isErrno } from "./environment.ts";

/** Why a file is unusable. The message follows the file's name, such as "does not exist". */
export class UnusableFile extends Error {}

/**
 * The target of a path after following every link. Missing steps stay as written, below the nearest existing folder.
 */
export function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isErrno(error)) throw error;
    const parent = dirname(path);
    return parent === path ? path : join(realPlace(parent), relative(parent, path));
  }
}

/** Whether a path is one of these folders or below one, after following links on both sides. */
export function isBelow(path: string, roots: readonly string[]): boolean {
  const place = realPlace(path);
  return roots.some((root) => {
    const way = relative(realPlace(resolve(root)), place);
    return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  });
}

/** Names that no tenant file may refer to: pmctl's state, the Git history, and variables. */
const RESERVED = /^(\.pmctl|\.git|\.env(\..*)?)$/;

/**
 * Whether a path, after following links, is or is below `.pmctl`, `.git` or `.env` of a directory or of one inside it.
 *
 * @param directory the operator's directory
 */
export function isReserved(path: string, directory: string): boolean {
  return relative(realPlace(directory), realPlace(path))
    .split(sep)
    .some((part) => RESERVED.test(part));
}

/**
 * The bytes of a file below one of these folders. The file is opened first and checked afterwards: swapping a link in
 * between has no effect, because the checked file is the one that is read.
 *
 * @throws UnusableFile
 */
export function readBelow(file: string, roots: readonly string[], limitKiB: number): { bytes: Buffer; mode: number } {
  return readBounded(file, limitKiB, (opened) => {
    const place = realPlace(file);
    const found = statSync(place);
    if (!isBelow(place, roots) || found.ino !== opened.ino || found.dev !== opened.dev)
      throw new UnusableFile("leads out of the tenant's folder and of what pmctl.yaml lists under secrets.files");
  });
}

/**
 * The bytes of a regular file; a pipe or a device is refused at once.
 *
 * @param check checks the opened file before it is read
 * @throws UnusableFile, with the system's error as its cause where there is one
 */
export function readBounded(
  file: string,
  limitKiB: number,
  check: (opened: Stats) => void = () => {},
): { bytes: Buffer; mode: number } {
  let descriptor: number | undefined;
  try {
    // Opening a pipe without a writer would block for ever.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const opened = fstatSync(descriptor);
    check(opened);
    if (!opened.isFile()) throw new UnusableFile("is not a file");
    if (opened.size > limitKiB * 1024) throw new UnusableFile(`is larger than ${limitKiB} KiB`);
    return { bytes: readFileSync(descriptor), mode: opened.mode };
  } catch (cause) {
    if (!isErrno(cause)) throw cause;
    throw new UnusableFile(cause.code === "ENOENT" ? "does not exist" : `cannot be read (${cause.code})`, { cause });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const MAX_FILE_BYTES = 1024 * 1024;

/**
 * The text of a configuration file.
 *
 * @throws ConfigError if the file is missing, larger than 1 MiB or not UTF-8 text
 */
export function readConfigFile(file: string): string {
  const fail = (message: string) => new ConfigError([fileProblem(displayPath(file), message)]);
  try {
    const stats = statSync(file);
    if (!stats.isFile()) throw fail("is not a file");
    if (stats.size > MAX_FILE_BYTES) throw fail(`is larger than 1 MiB (${stats.size} bytes)`);
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    if (!isErrno(error)) throw error;
    if (error.code === "ERR_ENCODING_INVALID_ENCODED_DATA") throw fail("is not UTF-8 text");
    throw fail(error.code === "ENOENT" ? "does not exist" : `cannot be read (${error.code})`);
  }
}

/** A path as the operator would type it: relative to the current directory if it is below. */
export function displayPath(file: string): string {
  const below = relative(process.cwd(), resolve(file));
  return below === "" || below.startsWith("..") ? file : below;
}

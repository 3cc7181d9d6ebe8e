import { readFileSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { ConfigError, fileProblem } from "./config-error.ts";
import { isErrno } from "./environment.ts";

const MAX_FILE_BYTES = 1024 * 1024;

/**
 * The text of a configuration file.
 *
 * @throws ConfigError when it is missing, larger than 1 MiB or no UTF-8 text
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

/** A path as the operator would type it: relative to where the command runs when it lies below. */
export function displayPath(file: string): string {
  const below = relative(process.cwd(), resolve(file));
  return below === "" || below.startsWith("..") ? file : below;
}

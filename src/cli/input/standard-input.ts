import { ConfigError, fileProblem } from "../../config/config-error.ts";

/** The argument of `-f` for the standard input, and its name in errors. */
export const STANDARD_INPUT = { option: "-", name: "standard input" };

/** The same limit as for a configuration file. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads the standard input to its end.
 * @throws ConfigError when the text is longer than 1 MiB or not UTF-8
 */
export async function readStandardInput(input: AsyncIterable<Uint8Array | string> = process.stdin): Promise<string> {
  const fail = (message: string) => new ConfigError([fileProblem(STANDARD_INPUT.name, message)]);
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of input) {
    const bytes = Buffer.from(part);
    length += bytes.length;
    if (length > MAX_BYTES) throw fail("is larger than 1 MiB");
    parts.push(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw fail("is not UTF-8 text");
  }
}

import { ConfigError, fileProblem } from "../../config/config-error.ts";

/** What `-f` takes for the standard input, and how errors call it. */
export const STANDARD_INPUT = { option: "-", name: "standard input" };

/** As much as a configuration file may hold. */
const MAX_BYTES = 1024 * 1024;

/**
 * The text that comes on the standard input, to its end.
 * @throws ConfigError when it is longer than 1 MiB or no UTF-8 text
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

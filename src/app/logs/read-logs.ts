import { createReadStream, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseJson } from "../../domain/parse-json.ts";
import { JOURNAL_FILE, type JournalLine } from "../../server/observe/journal.ts";

export type { JournalLine };

/** Which lines are meant; all unless given. */
export interface LogFilter {
  /** ISO 8601, both included. */
  since?: string | undefined;
  until?: string | undefined;
  /** Text in any field, in any case. */
  grep?: string | undefined;
  /** `404`, or `4xx`. */
  status?: string | undefined;
  level?: string | undefined;
  user?: string | undefined;
  request?: string | undefined;
}

/** Where the serving processes of a tenant keep their lines. */
export function logsFolder(directory: string, tenant: string): string {
  return join(directory, ".pmctl", "logs", tenant);
}

/**
 * The lines of a filter, by the order in which files were begun and lines written. Files are read line by line, however large.
 * @param from bytes of each file that were read before; set to what was read
 */
export async function* readLogs(
  folder: string,
  filter: LogFilter,
  from: Map<string, number> = new Map(),
): AsyncGenerator<JournalLine> {
  for (const name of filesOf(folder)) {
    let at = from.get(name) ?? 0;
    const input = createReadStream(join(folder, name), { start: at });
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      const line = parseJson(text);
      // A line that is being written is read as a whole the next time.
      if (!isLine(line)) break;
      at += Buffer.byteLength(text) + 1;
      if (matches(line, text, filter)) yield line;
    }
    from.set(name, at);
  }
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => JOURNAL_FILE.test(name))
      .toSorted();
  } catch {
    // Nothing was ever served here.
    return [];
  }
}

function isLine(value: unknown): value is JournalLine {
  return typeof value === "object" && value !== null && "ts" in value && "kind" in value;
}

function matches(
  line: JournalLine,
  text: string,
  { since, until, grep, status, level, user, request }: LogFilter,
): boolean {
  return (
    (since === undefined || line.ts >= since) &&
    (until === undefined || line.ts <= until) &&
    (grep === undefined || text.toLowerCase().includes(grep.toLowerCase())) &&
    (status === undefined || String(line.status).startsWith(status.replace("xx", ""))) &&
    (level === undefined || line.level === level) &&
    (user === undefined || line.userId === user) &&
    (request === undefined || line.requestId === request)
  );
}

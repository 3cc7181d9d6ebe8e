import { constants, readdirSync } from "node:fs";
import { join } from "node:path";
import { isErrno } from "../../config/environment.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { LOG_FILE, type LogLine } from "../../server/observe/log-files.ts";
import { openRegular } from "../../services/anchors/anchor-scan.ts";
import { statePath } from "../../state/state-directory.ts";

export type { LogLine };

/** Selects lines; all of them unless given. */
export interface LogFilter {
  /** In ISO 8601, both inclusive. */
  since?: string | undefined;
  until?: string | undefined;
  /** Text in any field, in upper or lower case. */
  grep?: string | undefined;
  /** Such as `404` or `4xx`. */
  status?: string | undefined;
  level?: string | undefined;
  user?: string | undefined;
  request?: string | undefined;
}

/** The folder with the log files of a tenant's servers. */
export function logsFolder(directory: string, tenant: string): string {
  return statePath(directory, "logs", tenant);
}

/**
 * Reads the matching lines, in the order in which files were started and lines written. Reads large files line by line.
 * @param from bytes of each file that were read before; updated to what was read
 */
export async function* readLogs(
  folder: string,
  filter: LogFilter,
  from: Map<string, number> = new Map(),
): AsyncGenerator<LogLine> {
  for (const name of filesOf(folder)) {
    let at = from.get(name) ?? 0;
    for await (const bytes of linesOf(join(folder, name), at)) {
      const text = bytes.toString();
      const line = parseJson(text);
      if (!isLine(line)) break;
      at += bytes.length + 1;
      if (matches(line, text, filter)) yield line;
    }
    from.set(name, at);
  }
}

/** The longest line of a server, which contains only names and codes. */
const MOST_LINE_BYTES = 1024 * 1024;

/** The whole lines of a file from a position on; a partial line is read the next time. */
async function* linesOf(path: string, start: number): AsyncGenerator<Buffer> {
  // Other programs may put links, pipes and devices without an end into the folder.
  await using file = await openRegular(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (isErrno(error) && error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (!file) return;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of file.createReadStream({ start, autoClose: false })) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
      yield rest.subarray(0, end);
      rest = rest.subarray(end + 1);
    }
    if (rest.length > MOST_LINE_BYTES) return;
  }
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => LOG_FILE.test(name))
      .toSorted();
  } catch {
    // No server has run here.
    return [];
  }
}

function isLine(value: unknown): value is LogLine {
  return typeof value === "object" && value !== null && "ts" in value && "kind" in value;
}

function matches(
  line: LogLine,
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

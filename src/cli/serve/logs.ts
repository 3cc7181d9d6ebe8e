import { type Command, InvalidArgumentError, Option } from "commander";
import type { LogFilter, LogLine } from "../../app/logs/read-logs.ts";
import { rounds } from "../../client/pace.ts";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { Host, Io } from "../command.ts";
import { READS_FILES } from "../errors.ts";
import { DEFAULT_LIMIT, limitOption } from "../input/paging.ts";
import { identifier, timeAgo } from "../input/parsers.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { sanitizeLine } from "../output/text-width.ts";

interface LogsOptions extends LogFilter {
  limit?: number;
  follow?: boolean;
}

export function register(noun: Command, host: Host): void {
  host.add<LogsOptions>(
    noun
      .argument("[tenant]", "the tenant", identifier)
      .description("print what this machine's processes for a tenant answered, and what went wrong; oldest first")
      .addOption(limitOption())
      .option("--since <when>", "only from this time on: 2h for the last two hours, or a time with its zone", timeAgo)
      .option("--until <when>", "only up to this time", timeAgo)
      .option("--grep <text>", "only lines with this text")
      .option("--status <status>", "only answers with this status: 404, or 4xx", statusPattern)
      .addOption(new Option("--level <level>", "only lines of this level").choices(["info", "warn", "error"]))
      .option("--user <user>", "only requests of this user", identifier)
      .option("--request <id>", "only this request", identifier)
      .option("--follow", "print new lines too, until Ctrl-C"),
    {
      names: "ts level kind requestId method route status durationMs key userId errorCode message",
      ends: READS_FILES,
      each: (options: LogsOptions) => options.follow === undefined,
    },
    async ({ options, args, io, interrupts }) => {
      const { logsFolder } = await import("../../app/logs/read-logs.ts");
      const workspace = openWorkspace();
      const folder = logsFolder(workspace.directory, pickTenant(workspace, args[0] ?? options.tenant));
      if (!options.follow) return runLogs(folder, options, io);
      if (!["table", "json", "ndjson"].includes(io.output.format))
        throw new Fault("USAGE", `--follow prints lines or ndjson, not ${io.output.format}`);
      return followLogs(folder, options, interrupts.take(), io);
    },
  );
}

function statusPattern(value: string): string {
  if (!/^[1-5](\d\d|xx)$/.test(value)) throw new InvalidArgumentError("It must be a status such as 404, or 4xx.");
  return value;
}

/** The answer or the message, as one column. */
function what({ kind, method, route, status, message }: LogLine): string {
  return kind === "access" ? `${method} ${route} ${status}${message === null ? "" : `: ${message}`}` : (message ?? "");
}

/** @param isOfRequest whether the lines are a single request's: then a narrow screen shows each of them whole */
const view = (isOfRequest: boolean): View<readonly LogLine[], LogLine> => ({
  kind: "list",
  rows: (lines) => lines,
  columns: [
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "LEVEL", cell: ({ level }) => level, whole: true },
    { title: "WHAT", cell: what, ...(isOfRequest ? { whole: true } : { least: 30 }) },
    { title: "MS", cell: ({ durationMs }) => (durationMs === null ? "-" : durationMs.toFixed(1)), align: "right" },
    { title: "KEY", cell: ({ key }) => orDash(key), optional: true },
    { title: "REQUEST", cell: ({ requestId }) => orDash(requestId), whole: true, optional: true },
  ],
  empty: "No line matches.",
});

async function runLogs(folder: string, options: LogsOptions, { output }: Io): Promise<void> {
  await output.print((await lastLines(folder, options)).lines, view(options.request !== undefined));
}

/** The last lines that match. Holds no more than these, however long the log is. */
async function lastLines(folder: string, { limit = DEFAULT_LIMIT, ...filter }: LogsOptions) {
  const { readLogs } = await import("../../app/logs/read-logs.ts");
  const [lines, from]: [LogLine[], Map<string, number>] = [[], new Map()];
  for await (const line of readLogs(folder, filter, from)) {
    lines.push(line);
    if (lines.length > 2 * limit) lines.splice(0, lines.length - limit);
  }
  return { lines: lines.slice(-limit).toSorted((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0)), from };
}

const LOOK_MS = 250;

async function followLogs(folder: string, options: LogsOptions, stopped: AbortSignal, { output }: Io): Promise<void> {
  const { readLogs } = await import("../../app/logs/read-logs.ts");
  const show = async (line: LogLine) => {
    if (output.format !== "table") output.line({ ...line });
    else await output.stream(`${sanitizeLine(`${time(line.ts, { seconds: true })}  ${line.level}  ${what(line)}`)}\n`);
  };
  const { lines, from } = await lastLines(folder, { ...options, limit: options.limit ?? 10 });
  for (const line of lines) await show(line);
  for await (const _ of rounds(LOOK_MS, stopped))
    for await (const line of readLogs(folder, options, from)) await show(line);
}

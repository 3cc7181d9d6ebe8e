import { Option } from "commander";
import { rounds } from "../../client/pace.ts";
import { PAGE, readPages } from "../../client/pages.ts";
import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import { AUDIT_TYPES, fittedSentence, sentenceOf } from "../../domain/audit/sentence.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandModule, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { knownUser, marketToFilterBy } from "../input/names.ts";
import { DEFAULT_LIMIT, limitOption } from "../input/paging.ts";
import { count, identifier, timeAgo } from "../input/parsers.ts";
import { time } from "../output/cells.ts";
import { nestedField } from "../output/nested.ts";
import type { View } from "../output/output.ts";
import { sanitizeLine } from "../output/text-width.ts";

type Filter = Omit<WireInput<"listAudit">, "limit" | "cursor" | "after">;
type Page = WireResult<"listAudit">;
type Entry = Page["entries"][number];

export interface ListOptions {
  limit?: number | undefined;
  filter: Filter;
}

interface ListArguments {
  limit?: number;
  since?: string;
  until?: string;
  user?: string;
  market?: string;
  grep?: string;
  type?: NonNullable<Filter["type"]>;
  actor?: string;
  follow?: boolean;
}

export const auditList: CommandModule = {
  register: (noun, host) =>
    host.add<ListArguments>(
      noun
        .command("list")
        .description("list what happened, newest first, in sentences; data formats print the sealed entries")
        .addOption(limitOption())
        .option("--since <when>", "only from this time on: 2h for the last two hours, or a time with its zone", timeAgo)
        .option("--until <when>", "only up to this time", timeAgo)
        .option("--user <user>", "only entries about this user", identifier)
        .option(
          "--market <market>",
          "only entries about this market: its id, an id prefix, its key, or @last",
          identifier,
        )
        .option("--grep <text>", "only entries with this text in type, actor, payload or the market's question")
        .addOption(new Option("--type <type>", "only this type, such as market.settled").choices(AUDIT_TYPES))
        .option("--actor <actor>", "only this actor, such as admin:ops")
        .option("--follow", "print the last entries, then each new one as it is written, until Ctrl-C"),
      { operation: "listAudit", rows: "entries" },
      ({ options, io, interrupts }) => {
        const { limit, since, until, user: userId, market, grep: q, type, actor } = options;
        const stated = { since, until, userId, q, type, actor };
        if (options.follow) requireFollowable(io, stated);
        return withSession(options, io, async (session) => {
          const api = session.api();
          const filter = { ...stated, marketId: await marketToFilterBy(market, api, session) };
          if (!options.follow) return runAuditList({ limit, filter }, api, io);
          const pauseMs = session.services ? PAUSE_MS.database : PAUSE_MS.server;
          return runAuditFollow({ limit, filter, stopped: interrupts.take(), pauseMs }, api, io);
        });
      },
    ),
};

const SEQ_AND_TIME = 31;

/** Shows each entry as a sentence. Its question is shortened where the sentence is wider than the terminal. */
function listView({ width }: Io["output"]): View<Page, Entry & { question: string | undefined }> {
  const room = width === undefined ? Number.POSITIVE_INFINITY : width - SEQ_AND_TIME;
  return {
    kind: "list",
    rows: ({ entries, questions }) =>
      entries.map((entry) => ({ ...entry, question: questions?.[String(entry.payload.marketId)] })),
    columns: [
      { title: "SEQ", cell: ({ seq }) => String(seq), align: "right", whole: true },
      { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
      { title: "WHAT", cell: ({ question, ...entry }) => fittedSentence(entry, question, room), wraps: true },
    ],
    empty: "No entry matches.",
  };
}

export async function runAuditList({ limit, filter }: ListOptions, api: Api, io: Io): Promise<void> {
  const { output } = io;
  const { questions, ...page } = await readLog(limit, (range) => api.listAudit({ ...filter, ...range }));
  if (page.entries.length === 0 && filter.userId !== undefined) await knownUser(filter.userId, api);
  const isForPeople = output.format === "table" || output.format === "markdown";
  await output.print(isForPeople ? { ...page, questions } : page, listView(output));
  noteOlder(page, io);
}

/** One page of a log; `questions` are those of its markets. */
interface LogPage<Logged> {
  entries: Logged[];
  cursor: string | null;
  questions?: Record<string, string> | undefined;
}

/** Reads the newest entries of a log, with the questions of their markets. */
export async function readLog<Logged>(
  limit: number = DEFAULT_LIMIT,
  read: (range: { limit: number; cursor: string | undefined }) => Promise<LogPage<Logged>>,
): Promise<Required<LogPage<Logged>>> {
  const questions: Record<string, string> = {};
  const { items: entries, nextCursor: cursor } = await readPages(limit, async (range) => {
    const page = await read(range);
    Object.assign(questions, page.questions);
    return { items: page.entries, nextCursor: page.cursor };
  });
  return { entries, cursor, questions };
}

export function noteOlder({ cursor }: Pick<LogPage<unknown>, "cursor">, { output }: Io): void {
  if (cursor !== null && output.format === "table") output.note("There are older entries: raise --limit.");
}

/** A server limits requests, a database does not. */
const PAUSE_MS = { database: 500, server: 2000 };
const LAST_ONES = 10;

export interface FollowOptions extends ListOptions {
  stopped: AbortSignal;
  /** The pause between two reads. */
  pauseMs: number;
}

/** An endless stream prints lines for people or lines of JSON: the other formats need an end. */
function requireFollowable({ output }: Io, { until }: Filter): void {
  if (until !== undefined) throw new Fault("USAGE", "--follow never ends: leave out --until");
  if (!["table", "json", "ndjson"].includes(output.format))
    throw new Fault("USAGE", `--follow prints sentences or ndjson, not ${output.format}`);
}

/** Prints the last entries of a filter, oldest first, then each new entry once and in order, until it is stopped. */
export async function runAuditFollow(options: FollowOptions, api: Api, { output }: Io): Promise<void> {
  const { limit = LAST_ONES, filter, stopped, pauseMs } = options;
  const show = async (entry: Entry, questions: Page["questions"]) => {
    const sentence = sentenceOf(entry, questions?.[String(entry.payload.marketId)]);
    if (output.format !== "table") output.line(entry);
    else await output.stream(`${sanitizeLine(`${time(entry.ts, { seconds: true })}  ${sentence}`)}\n`);
  };
  // An entry written between the two reads is newer than the head, so the first poll prints it.
  const [head] = (await api.listAudit({ limit: 1 })).entries;
  const begun = await readLog(limit, (range) => api.listAudit({ ...filter, ...range }));
  let after = head?.seq ?? 0;
  for (const entry of begun.entries.toReversed()) if (entry.seq <= after) await show(entry, begun.questions);
  for await (const _ of rounds(pauseMs, stopped)) {
    let cursor: string | undefined;
    do {
      const page = await api.listAudit({ ...filter, after, limit: PAGE, cursor });
      for (const entry of page.entries) await show(entry, page.questions);
      after = page.entries.at(-1)?.seq ?? after;
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined && !stopped.aborted);
  }
}

export const auditShow = defineCommand({
  name: "show",
  summary: "show one entry: its sentence, and its payload as it is sealed",
  takes: (command) => command.argument("<seq>", "the entry's number, as audit list shows it", count),
  operation: "getAuditEntry",
  input: ({ args: [seq] }) => ({ seq: Number(seq) }),
  fields: ({ seq, sentence, type, actor, ts, keyId, hash, payload }) => [
    ["entry", String(seq)],
    ["sentence", sentence],
    ["type", type],
    ["actor", actor],
    ["time", ts],
    ...Object.entries(payload).map(([field, value]) => nestedField(field, value)),
    ["key", keyId],
    ["hash", hash],
  ],
});

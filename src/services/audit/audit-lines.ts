import { type AuditEntry, payloadOf } from "../../domain/audit/audit-link.ts";
import { invariant } from "../../domain/fault.ts";
import type { Reader } from "../../postgres/pool.ts";
import {
  boundsOf,
  ENTRY_END,
  isSearch,
  type LinesQuery,
  later,
  listAuditEntries,
  readPacked,
  searchAudit,
} from "../../queries/audit.ts";
import type { AuditFilter, AuditQuery } from "../../queries/audit-candidates.ts";

/** About 150 kB from the database. */
const PAGE = 400;
/** PostgreSQL's code for text that its type does not accept. */
const INVALID_TEXT = "22P02";

/** A part of the log at the time of the request. */
export interface LogLines {
  /** The last entry of the lines; 0 for none. */
  last: bigint;
  /** Lines of JSON, several per text, each ended by a newline. */
  pages: AsyncGenerator<string>;
}

interface LinesFilter extends AuditFilter {
  after: bigint;
  /** Milliseconds since the epoch, both included. */
  since?: number | undefined;
  until?: number | undefined;
}

/**
 * The entries after `after`, oldest first, one line of JSON each. Every page is a short statement of its own, so a slow
 * reader holds no snapshot and at most two pages. Entries never change, so the pages still fit together.
 */
export async function openLogLines(reader: Reader, { since, until, ...filter }: LinesFilter): Promise<LogLines> {
  const within = await reader.read((sql) => boundsOf(sql, { since, until }));
  const query = { ...filter, after: later(within.after, filter.after), limit: PAGE };
  const last = await lastMatch(reader, { ...query, before: within.before, limit: 1 });
  return { last, pages: (isSearch(filter) ? foundUpTo : pagesUpTo)(reader, { ...query, upTo: last }) };
}

/** The last entry that a filter selects; 0 for none. */
async function lastMatch(reader: Reader, query: AuditQuery): Promise<bigint> {
  const { entries, reached } = await reader.read((sql) => searchAudit(sql, query));
  const [newest] = entries;
  if (newest) return newest.seq;
  return reached === undefined ? 0n : lastMatch(reader, { ...query, before: reached });
}

/** The entries that a search finds, one part of the log at a time. */
async function* foundUpTo(reader: Reader, { upTo, limit, ...query }: LinesQuery): AsyncGenerator<string> {
  for (let after = query.after; after < upTo; ) {
    const terms = { ...query, after, before: upTo + 1n, oldestFirst: true, limit };
    const { entries, reached } = await reader.read((sql) => searchAudit(sql, terms));
    if (entries.length > 0) yield entries.map(lineOf).join("");
    after = (entries.length === limit ? entries.at(-1)?.seq : reached) ?? upTo;
  }
}

async function* pagesUpTo(reader: Reader, query: LinesQuery): AsyncGenerator<string> {
  if (query.upTo === 0n) return;
  let next = readPage(reader, query);
  for (;;) {
    const { text, last } = await next;
    // Ends the answer before its last line, which a client takes for what it is.
    invariant(last !== undefined, "entries stay, and so does the last one");
    const isLast = last >= query.upTo;
    if (!isLast) {
      // The database prepares it while the current page is sent.
      next = readPage(reader, { ...query, after: last });
      next.catch(() => {});
    }
    yield text;
    if (isLast) return;
  }
}

interface Page {
  text: string;
  /** The last entry of the page; undefined for none. */
  last: bigint | undefined;
}

async function readPage(reader: Reader, query: LinesQuery): Promise<Page> {
  try {
    const { packed, last, areObjects } = await reader.read((sql) => readPacked(sql, query));
    if (last === undefined) return { text: "", last };
    const text = areObjects ? linesOf(packed) : undefined;
    if (text !== undefined) return { text, last };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === INVALID_TEXT)) throw error;
  }
  // An entry names an actor that JSON escapes, or was tampered with.
  const entries = await reader.read((sql) => listAuditEntries(sql, { ...query, oldestFirst: true }));
  const within = entries.filter(({ seq }) => seq <= query.upTo);
  return { text: within.map(lineOf).join(""), last: within.at(-1)?.seq };
}

/** One expression checks that no field except the payload needs escaping, which is cheaper than escaping each field. */
const PLAIN_ENTRY =
  /^([^"\\\p{Cc}]*)\n(\d+)\n([^"\\\p{Cc}]*)\n([^"\\\p{Cc}]*)\n([^"\\\p{Cc}]*)\n([^"\\\p{Cc}]*)\n([^\n]*)$/u;

/** Payloads are copied unchanged, because they are lines of JSON; undefined if an entry needs escaping. */
function linesOf(packed: string): string | undefined {
  let text = "";
  for (const entry of packed.split(ENTRY_END)) {
    const plain = PLAIN_ENTRY.exec(entry);
    if (!plain) return undefined;
    const [, keyId, seq, ts, type, actor, hash, payload] = plain;
    text +=
      `{"seq":${seq},"type":"${type}","actor":"${actor}","payload":${payload}` +
      `,"hash":"${hash}","ts":"${ts}","keyId":"${keyId}","payloadText":${JSON.stringify(payload)}}\n`;
  }
  return text;
}

/** The line of any entry. A payload that is not a JSON object was tampered with, and is shown as an empty object. */
function lineOf({ seq, type, actor, hash, ts, keyId, payloadText }: AuditEntry): string {
  const payload = payloadOf({ payloadText });
  return `${JSON.stringify({ seq: Number(seq), type, actor, payload, hash, ts, keyId, payloadText })}\n`;
}

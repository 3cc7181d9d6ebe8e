import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { PAGE } from "../../client/pages.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { auditLines, canonicalJson, type IntegrityProblem } from "../../domain/audit/audit-link.ts";
import {
  type ChainBreak,
  GENESIS,
  operatorText,
  type SealedLines,
  type WalkOptions,
  walkChain,
} from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";

/** An entry in the form of the API and of an export. */
export type Entry = WireResult<"listAudit">["entries"][number];

/** The log after an entry, as texts of whole lines in the form of an export. */
export type LogText = (after: bigint) => Promise<AsyncIterable<string>>;

/** The result of a verification, as `audit verify` prints it. */
export interface ChainReport {
  verified: boolean;
  /** Hash of the last entry; 64 zeros before the first. */
  head: string;
  count: number;
  /** The first entry that does not hold, with the reason, its stored hash and its expected hash. */
  broken?: {
    kind: IntegrityProblem;
    seq: number;
    problem: string;
    stored?: string;
    computed?: string;
    /** The key that sealed the log, where the given key is another one: the record itself may be whole. */
    sealedWith?: string;
  };
}

/** Where to begin, and the anchors that the chain must hold. */
export interface VerifyOptions extends Pick<WalkOptions, "from" | "anchors"> {
  /** How the log is read over HTTP (default: in pages). */
  logText?: LogText | undefined;
  onProgress?: (checked: number, count: number) => void;
}

/**
 * Verifies a chain over HTTP and trusts only the entries: each hash is computed again from the entry's text and the
 * previous hash. The server's count reveals entries that are missing at the end.
 *
 * @param keys all keys that have sealed entries
 */
export async function verifyOverApi(
  api: Api,
  keys: readonly AuditKey[],
  { from, anchors, onProgress, logText }: VerifyOptions = {},
): Promise<ChainReport> {
  const { head, count, problem } = await api.getAuditStatus({});
  const walked = await walkChain(sealedText(await textAfter(api, logText, from?.seq)), {
    keys,
    head: { seq: BigInt(count), hash: head },
    from,
    anchors,
    onPage: (seq) => onProgress?.(Number(seq), count),
  });
  const broken = walked.broken ?? (await beyondHead(api, count)) ?? saidBy(problem);
  return chainReport({ head, count }, { broken });
}

/** A row after the stated head is either a newer entry, or a row that no commit wrote. */
async function beyondHead(api: Api, count: number): Promise<ChainBreak | undefined> {
  const { entries } = await api.listAudit({ after: count, limit: 1 });
  const [next] = entries;
  if (!next || (await api.getAuditStatus({})).count >= next.seq) return undefined;
  return { kind: "beyond-head", seq: BigInt(next.seq), problem: `row ${next.seq} comes after the head, ${count}` };
}

/** A problem that only the server knows, such as a log that was replaced by an older one. */
function saidBy(problem: WireResult<"getAuditStatus">["problem"]): ChainBreak | undefined {
  if (!problem) return undefined;
  const { kind, seq, text, sealedWith } = problem;
  return { kind, seq: BigInt(seq), problem: text, ...(sealedWith === undefined ? {} : { sealedWith }) };
}

/**
 * Verifies an export without a database or a server. It cannot see that entries after the last one are missing: only
 * the head or a receipt shows that.
 */
export async function verifyFile(
  file: string,
  keys: readonly AuditKey[],
  { anchors, onProgress }: VerifyOptions = {},
): Promise<ChainReport> {
  const walked = await walkChain(sealedFile(file), {
    keys,
    anchors,
    onPage: (seq) => onProgress?.(Number(seq), Number(seq)),
  });
  const { seq, hash } = walked.end;
  return chainReport({ head: hash, count: Number(seq) }, walked);
}

/**
 * Refuses entries that differ from what was sealed, before anything is signed over them. An old entry may not have been
 * read by any command for minutes.
 *
 * @throws Fault INTEGRITY for the first entry that none of the keys sealed onto the previous one
 */
export async function requireSealed(api: Api, entries: readonly Entry[], keys: readonly AuditKey[]): Promise<void> {
  let hashes: ReadonlyMap<number, string> = new Map([[0, GENESIS.hash]]);
  for (const entry of entries.toSorted((a, b) => a.seq - b.seq)) {
    const before = entry.seq - 1;
    if (!hashes.has(before)) {
      const page = await api.listAudit({ after: before - 1, limit: PAGE });
      hashes = new Map(page.entries.map(({ seq, hash }) => [seq, hash]));
    }
    const from = { seq: BigInt(before), hash: hashes.get(before) ?? "" };
    const { broken } = await walkChain(alone(sealedLines(entry)), { keys, from });
    if (broken) throw new Fault("INTEGRITY", `Nothing is signed, because the log does not hold: ${broken.problem}`);
  }
}

async function* alone(entry: SealedLines): AsyncGenerator<SealedLines[]> {
  yield [entry];
}

/** The report of a walk. */
export function chainReport(
  head: { head: string; count: number },
  { broken }: { broken?: ChainBreak | undefined },
): ChainReport {
  if (!broken) return { verified: true, ...head };
  const { source: _, ...told } = broken;
  return { verified: false, ...head, broken: { ...told, seq: Number(broken.seq), problem: operatorText(broken) } };
}

/** All entries after `seq`, oldest first, page by page. */
export async function* entriesAfter(api: Api, seq: bigint = GENESIS.seq): AsyncGenerator<Entry[]> {
  let cursor: string | undefined;
  do {
    const page = await api.listAudit({ after: Number(seq), limit: PAGE, cursor });
    if (page.entries.length > 0) yield page.entries;
    else if (page.cursor !== null) throw new Fault("UNREACHABLE", "The server returns empty pages of the audit log");
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
}

/** The log after an entry in the form of an export, at once or page by page. */
export async function textAfter(
  api: Api,
  logText: LogText | undefined,
  seq: bigint = GENESIS.seq,
): Promise<AsyncIterable<string>> {
  return logText ? logText(seq) : pagesAsText(entriesAfter(api, seq));
}

async function* pagesAsText(pages: AsyncIterable<readonly Entry[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

async function* sealedText(texts: AsyncIterable<string>): AsyncGenerator<SealedLines[]> {
  for await (const text of texts)
    yield text
      .trimEnd()
      .split("\n")
      .map((line) => sealedLine(line, "The server's answer"));
}

async function* sealedFile(file: string): AsyncGenerator<SealedLines[]> {
  let page: SealedLines[] = [];
  let line = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1;
      if (text !== "") page.push(sealedLine(text, `${file}:${line}`));
      if (page.length === PAGE) {
        yield page;
        page = [];
      }
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("USAGE", `${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (page.length > 0) yield page;
}

/** Fields without escapes, the payload, and its text again as a JSON string. */
const USUAL_LINE =
  /^\{"seq":(\d+),"type":"([^"\\]*)","actor":"([^"\\]*)","payload":(.+?),"hash":"([^"\\]*)","ts":"([^"\\]*)","keyId":"([^"\\]*)","payloadText":(".*")\}$/s;

/**
 * An exported entry as it was sealed. A line of the usual form contains its payload exactly as it was sealed, so
 * parsing and comparing it is unnecessary; both would cost more than its HMAC.
 */
export function sealedLine(line: string, place: string): SealedLines {
  const usual = USUAL_LINE.exec(line);
  if (usual) {
    const [, seq, type, actor, payload = "", hash = "", ts, keyId, text] = usual;
    if (text === JSON.stringify(payload))
      return { lines: `${keyId}\n${seq}\n${ts}\n${type}\n${actor}\n${payload}`, hash };
  }
  return sealedLines(entryOf(line, place));
}

function entryOf(text: string, place: string): Entry {
  const entry = parseJson(text) as Entry | undefined;
  if (typeof entry?.seq !== "number" || typeof entry.payloadText !== "string" || typeof entry.hash !== "string")
    throw new Fault("USAGE", `${place} is not an audit entry of \`pmctl audit export\``);
  return entry;
}

/** People and tools read the `payload` object, so it is verified where it differs from the sealed text. */
function sealedLines({ payload, ...entry }: Entry): SealedLines {
  const sealed = parseJson(entry.payloadText);
  const agrees = sealed !== undefined && canonicalJson(payload) === canonicalJson(sealed as typeof payload);
  const payloadText = agrees ? entry.payloadText : canonicalJson(payload);
  return { lines: auditLines({ ...entry, seq: BigInt(entry.seq), payloadText }), hash: entry.hash };
}

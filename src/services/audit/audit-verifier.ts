import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import { type ChainBreak, GENESIS, type Walked, type WalkOptions, walkChain } from "../../domain/audit/chain-walk.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readSealedLines } from "../../queries/audit.ts";
import { firstGap, headMissing, outside, readLog } from "../../queries/evidence.ts";

/** A page fits into a socket's buffer, so the database can be one page ahead; hashing a page takes about a millisecond. */
const PAGE = 400;

export interface Verification {
  verified: boolean;
  /** Hash of the latest entry, 64 zeros before the first. */
  head: string;
  count: bigint;
  /** When the head was read, by the database's clock; later entries are not covered. */
  askedAt: number;
  /** The last verified entry. */
  end: ChainPoint;
  broken?: ChainBreak;
}

export interface VerifyOptions extends Omit<WalkOptions, "keys" | "head"> {
  /** Whether to count the rows before `from`, which takes a while for a long log; true by default. */
  counts?: boolean;
}

/**
 * Verifies the chain against its keys and the head row, which reveals a cut tail; that every row before the walk's
 * start exists; and that no row is outside the chain.
 */
export async function verifyChain(
  reader: Reader,
  keys: WalkOptions["keys"],
  { counts = true, ...options }: VerifyOptions = {},
): Promise<Verification> {
  const log = await reader.read((sql) => readLog(sql));
  const { head, last, readAt: askedAt } = log;
  const from = options.from ?? GENESIS;
  if (!head) return verdict(last, askedAt, { end: from, broken: headMissing(last) });
  const { end, broken: first } = await walkChain(pagesAfter(reader, from.seq), { ...options, keys, head });
  const broken = first ?? outside(log) ?? (counts && from.seq > 0n ? await gapBefore(reader, from.seq) : undefined);
  return verdict(head, askedAt, { end, broken });
}

function verdict(
  { seq: count, hash: head }: ChainPoint,
  askedAt: number,
  { end, broken }: { end: ChainPoint; broken: ChainBreak | undefined },
): Verification {
  return { verified: broken === undefined, head, count, askedAt, end, ...(broken ? { broken } : {}) };
}

async function gapBefore(reader: Reader, seq: bigint): Promise<ChainBreak | undefined> {
  const gap = await reader.read((sql) => firstGap(sql, seq));
  return gap === undefined ? undefined : { kind: "gap", seq: gap, problem: `entry ${gap} is missing` };
}

/**
 * Computes only the seals of the entries after `from`, up to `head`.
 * @param from a point that is known to be good
 */
export function verifySpan(
  reader: Reader,
  keys: WalkOptions["keys"],
  { from, head, onPage }: { from: ChainPoint; head: ChainPoint; onPage?: WalkOptions["onPage"] },
): Promise<Walked> {
  return walkChain(pagesAfter(reader, from.seq), { keys, from, head, onPage });
}

/** Reads two pages ahead: the database prepares them while the current page is hashed. */
async function* pagesAfter(reader: Reader, seq: bigint) {
  const readPage = (from: bigint) => {
    const page = reader.read((sql) => readSealedLines(sql, from, PAGE));
    page.catch(() => {});
    return page;
  };
  let next = seq + 1n;
  const pages = [readPage(next), readPage(next + BigInt(PAGE))];
  for (;;) {
    const page = await pages.shift();
    if (!page || page.length === 0) return;
    pages.push(readPage(next + 2n * BigInt(PAGE)));
    next += BigInt(PAGE);
    yield page;
  }
}

/** The result of verifying the newest entries. */
export interface TailVerification {
  checked: number;
  /** The first problem. */
  broken?: ChainBreak;
}

/** Verifies only the newest entries, up to the head row. Earlier entries are counted and trusted. */
export async function verifyTail(reader: Reader, keys: WalkOptions["keys"], limit: number): Promise<TailVerification> {
  const { head, last } = await reader.read((sql) => readLog(sql));
  if (!head) return { checked: 0, broken: headMissing(last) };
  const before = head.seq > BigInt(limit) ? head.seq - BigInt(limit) : 0n;
  const { hashes } = await reader.read((sql) => readLog(sql, [{ seq: before }]));
  const hash = hashes.get(before);
  if (before > 0n && hash === undefined)
    return { checked: 0, broken: { kind: "gap", seq: before, problem: `entry ${before} is missing` } };
  const { end, broken } = await verifyChain(reader, keys, hash === undefined ? {} : { from: { seq: before, hash } });
  return { checked: Number(end.seq - before), ...(broken ? { broken } : {}) };
}

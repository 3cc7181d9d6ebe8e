import { type ChainBreak, type ChainPoint, GENESIS, type WalkOptions, walkChain } from "../engine/chain-walk.ts";
import type { Reader } from "../store/pool.ts";
import { readAuditHead, readSealedLines } from "../store/queries/audit.ts";

/** A page fits into a socket's buffer, so the database can be a page ahead; hashing it takes about a millisecond. */
const PAGE = 400;

export interface Verification {
  verified: boolean;
  /** Hash of the latest entry, 64 zeros before the first. */
  head: string;
  count: bigint;
  /** When the head was read, by the database's clock: what was written since is not part of it. */
  askedAt: number;
  /** The last entry that held. */
  end: ChainPoint;
  broken?: ChainBreak;
}

/** Verifies the chain against its keys and the head row, which makes a cut tail visible. */
export async function verifyChain(
  reader: Reader,
  keys: WalkOptions["keys"],
  options: Omit<WalkOptions, "keys" | "head"> = {},
): Promise<Verification> {
  const head = await reader.read(readAuditHead);
  const from = options.from ?? GENESIS;
  const { end, broken } = await walkChain(pagesAfter(reader, from.seq), { ...options, keys, head });
  const verdict = { verified: broken === undefined, head: head.hash, count: head.seq, askedAt: head.readAt, end };
  return broken ? { ...verdict, broken } : verdict;
}

/** Two pages ahead: the database prepares them while this one is being hashed. */
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

/** What a look at the newest entries found. */
export interface TailVerification {
  checked: number;
  /** What does not hold. */
  broken?: string;
}

/** Verifies the newest entries only, up to the head row; the entry before them is taken on trust. */
export async function verifyTail(reader: Reader, keys: WalkOptions["keys"], limit: number): Promise<TailVerification> {
  const { seq } = await reader.read(readAuditHead);
  const before = seq > BigInt(limit) ? seq - BigInt(limit) : 0n;
  const [anchor] = before > 0n ? await reader.read((sql) => readSealedLines(sql, before, 1)) : [];
  if (before > 0n && !anchor) return { checked: 0, broken: `entry ${before} is missing` };
  const { end, broken } = await verifyChain(reader, keys, anchor ? { from: { seq: before, hash: anchor.hash } } : {});
  return { checked: Number(end.seq - before), ...(broken ? { broken: broken.problem } : {}) };
}

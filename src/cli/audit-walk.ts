import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { Api, WireResult } from "../contract/operations.ts";
import { auditLines, auditPreimage, GENESIS_HASH } from "../domain/audit-link.ts";
import { Fault } from "../domain/fault.ts";

type Entry = WireResult<"listAudit">["entries"][number];

/** What a verification found, as `audit verify` prints it. */
export interface ChainReport {
  verified: boolean;
  /** Hash of the latest entry, 64 zeros before the first. */
  head: string;
  count: number;
  /** The first entry that does not hold, and why. */
  broken?: { seq: number; problem: string };
}

const PAGE = 200;

/**
 * Verifies a chain over HTTP with the key at hand, trusting nothing but the entries themselves: from the newest back to
 * the first, each hash is computed again from its text and its predecessor's hash. The count that the server states
 * makes a cut tail visible.
 *
 * @param secret the audit key
 * @param onProgress told how many entries have been checked
 */
export async function verifyOverApi(
  api: Api,
  secret: string,
  onProgress: (checked: number, count: number) => void = () => {},
): Promise<ChainReport> {
  const { head, count } = await api.getAuditStatus({});
  const walk = new BackwardWalk(createSecretKey(secret, "utf8"));
  let cursor: string | undefined;
  do {
    const page = await api.listAudit({ limit: PAGE, cursor });
    if (cursor === undefined) checkHead(walk, page.entries, head, count);
    for (const entry of page.entries) walk.step(entry);
    onProgress(walk.checked, count);
    if (page.cursor !== null && page.entries.length === 0)
      throw new Fault("UNREACHABLE", "The server gives empty pages of the audit log");
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  walk.finish();
  const { broken } = walk;
  return { verified: broken === undefined, head, count, ...(broken ? { broken } : {}) };
}

/**
 * The head must be an entry. Those that came after the status was asked for are newer than it; more of them than a page
 * holds leave it to the links, which reach the head's entry anyway.
 */
function checkHead(walk: BackwardWalk, entries: readonly Entry[], head: string, count: number): void {
  const newest = entries[0]?.seq ?? 0;
  if (newest < count) walk.report(newest + 1, `entry ${newest + 1} and all after it are missing`);
  const atHead = entries.find(({ seq }) => seq === count);
  if (atHead && atHead.hash !== head) walk.report(count + 1, "the head row does not match the last entry");
}

/** Checks each entry as soon as its predecessor is known. Of several problems the earliest entry's counts. */
class BackwardWalk {
  broken: { seq: number; problem: string } | undefined;
  checked = 0;
  readonly #key: KeyObject;
  #later: Entry | undefined;
  #held = 0;

  constructor(key: KeyObject) {
    this.#key = key;
  }

  step(entry: Entry): void {
    if (this.#later) this.#check(this.#later, entry.seq, entry.hash);
    this.#later = entry;
  }

  finish(): void {
    if (this.#later) this.#check(this.#later, 0, GENESIS_HASH);
    // Not one link holds: what differs is the key, or everything.
    if (this.broken && this.#held === 0 && this.checked > 0) this.report(1, "entry 1 is sealed with an unknown key");
  }

  report(seq: number, problem: string): void {
    if (!this.broken || seq <= this.broken.seq) this.broken = { seq, problem };
  }

  #check(entry: Entry, previousSeq: number, previousHash: string): void {
    this.checked += 1;
    const { seq, hash } = entry;
    const missing = previousSeq + 1;
    if (missing !== seq) this.report(missing, `entry ${missing} is missing`);
    else if (this.#seal(previousHash, entry) === hash) this.#held += 1;
    else this.report(seq, `entry ${seq} or its link to the one before was altered`);
  }

  #seal(previousHash: string, entry: Entry): string {
    const lines = auditLines({ ...entry, seq: BigInt(entry.seq) });
    return createHmac("sha256", this.#key).update(auditPreimage(previousHash, lines)).digest("hex");
  }
}

import { stat } from "node:fs/promises";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import { type ChainBreak, requireOurKeys, setBackBreak } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { type KnownAnchor, newestOf } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import type { Head } from "../../ledger/commit.ts";
import type { HeadReading, Journal } from "../../ledger/journal.ts";
import { StatementFailed } from "../../postgres/connect.ts";
import type { Reader } from "../../postgres/pool.ts";
import { type LogReading, lastKeyIds, problemOf, readLog } from "../../queries/evidence.ts";
import { directoryAnchors } from "./anchor-file.ts";
import type { AnchorScan } from "./anchor-scan.ts";
import {
  type AnchorSources,
  compareAnchors,
  type KnownAnchors,
  knownAnchors,
  scansOf,
  verifiedPointFile,
} from "./known-anchors.ts";

export interface EvidenceOptions {
  /** For short reads. */
  reader: Reader;
  keys: readonly AuditKey[];
  /** Without sources, only entries that this process has seen itself are known. */
  sources?: AnchorSources | undefined;
}

/** The result of comparing the log with its anchors. */
export interface Look {
  /** The anchors that count: all except anchors of entries whose loss an operator has accepted. */
  anchors: readonly KnownAnchor[];
  /** Every anchor, also those whose loss is accepted, and what was ignored in the files. */
  known: KnownAnchors;
  /** The counting anchors that are in files and so outlive the process. */
  kept: readonly KnownAnchor[];
  log: LogReading;
  problem: ChainBreak | undefined;
}

const ACKNOWLEDGED = "acknowledged by this process";
const NOTHING_KNOWN: KnownAnchors = { anchors: [], faults: [] };

/**
 * Compares the log with entries that it is known to have contained: the anchors, and the last entry that this process acknowledged.
 * A comparison with all anchors (a look) costs a few index lookups. Between looks, every reading of the head is compared too.
 */
export class Evidence {
  readonly #options: EvidenceOptions;
  #acknowledged: KnownAnchor | undefined;
  /** Set while changes are refused, because the log was set back or has no head. */
  #forbids: ChainBreak | undefined;
  #isOurLog = false;
  #files: { state: string; known: Promise<KnownAnchors> } | undefined;
  readonly #scans: readonly AnchorScan[];
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: EvidenceOptions) {
    this.#options = options;
    this.#scans = options.sources ? scansOf(options.sources) : [];
  }

  /** Records that callers were answered for entries up to this one: a log without it was set back. */
  acknowledge({ seq, hash, ts }: Pick<Head, "seq" | "hash" | "ts">): void {
    this.#acknowledged = { seq, hash, ts: new Date(ts).toISOString(), source: ACKNOWLEDGED };
  }

  /** Does the same for an entry that this process has verified, whichever process wrote it. */
  acknowledgeSeen(entry: ChainPoint & { ts: string }): void {
    if (!this.#forbids && entry.seq >= (this.#acknowledged?.seq ?? 0n))
      this.#acknowledged = { ...entry, source: ACKNOWLEDGED };
  }

  /** The last entry that this process acknowledged; if the log does not contain it, the entry that was lost. */
  get acknowledged(): KnownAnchor | undefined {
    return this.#acknowledged;
  }

  /** The problem that currently blocks changes, as last found. */
  get forbids(): ChainBreak | undefined {
    return this.#forbids;
  }

  /** The text of a place without the path of the operator's directory, which is the server's own matter. */
  placeOf(source: string): string {
    const { directory } = this.#options.sources ?? {};
    return directory === undefined ? source : source.replaceAll(`${directory}/`, "");
  }

  /**
   * Traders and senders of webhooks read the message, so it has no details. Operators find them in the error's detail
   * and in the server's log. Costs one comparison.
   * @throws Fault INTEGRITY while changes are refused
   */
  requireSound(): void {
    if (!this.#forbids) return;
    const cause = this.#forbids.kind === "set-back" ? "the audit log was set back" : "the audit log has no head";
    throw new Fault("INTEGRITY", `Changes are refused: ${cause}`, { detail: { ...this.#forbids } });
  }

  /**
   * Compares a reading of the head with the last acknowledged entry.
   * @param contains whether the log contains an entry; called only when another process has written
   * @throws Fault INTEGRITY when the log was set back
   */
  async require(head: ChainPoint, contains: (point: ChainPoint) => Promise<boolean>): Promise<void> {
    const last = this.#acknowledged;
    const holds =
      !last || (head.seq === last.seq ? head.hash === last.hash : head.seq > last.seq && (await contains(last)));
    if (holds && !this.#forbids) return;
    // An earlier problem may have been repaired, or the loss of an entry accepted.
    await this.look();
    this.requireSound();
  }

  /**
   * Checks, until it succeeds once, whether a key of this process sealed the log's last entry: an entry after another key's entry
   * could never be verified or removed. Later ends may use a key that another server has already.
   * @param end the last entry according to the head; by default the log's last entry
   * @throws Fault CONFIG_INVALID if none of the keys sealed it
   * @throws Fault CONFIG_INVALID when none did
   */
  async requireOurLog(end?: Pick<ChainPoint, "seq">): Promise<void> {
    if (this.#isOurLog) return;
    const { reader, keys } = this.#options;
    requireOurKeys(await reader.read((sql) => lastKeyIds(sql, end?.seq)), keys);
    this.#isOurLog = true;
  }

  /** Compares the log with all anchors, and allows or refuses changes accordingly. */
  async look(): Promise<Look> {
    const { reader, keys } = this.#options;
    const known = await this.#known();
    const acknowledged = this.#acknowledged;
    const anchors = acknowledged ? [...known.anchors, acknowledged] : known.anchors;
    const log = await reader.read((sql) => readLog(sql, anchors));
    const { setBack, counting } = await compareAnchors(log, reader, keys, anchors);
    const problem = setBack ? setBackBreak(setBack, log.hashes.get(setBack.anchor.seq)) : problemOf(log);
    this.#forbids = problem?.kind === "set-back" || problem?.kind === "head-missing" ? problem : undefined;
    // An accepted rollback gives up the acknowledged entry, but not an entry acknowledged since the log was read.
    if (!problem && acknowledged && this.#acknowledged === acknowledged && isLost(acknowledged, log))
      this.#acknowledged = undefined;
    const kept = known.anchors.filter((anchor) => counting.includes(anchor));
    return { known: { ...known, anchors }, anchors: counting, kept, log, problem };
  }

  /** Rereads the files only if one of them has changed. */
  async #known(): Promise<KnownAnchors> {
    const { sources } = this.#options;
    if (!sources) return NOTHING_KNOWN;
    const { directory, tenant, files } = sources;
    const paths = [directoryAnchors(directory, tenant), ...files, verifiedPointFile(directory, tenant)];
    const states = await Promise.all(
      paths.map((path) =>
        stat(path).then(
          ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
          () => "none",
        ),
      ),
    );
    const state = states.join("\n");
    if (this.#files?.state !== state) {
      // Readings run one at a time, because each continues where the previous one ended.
      const known = this.#reading.then(() => knownAnchors(sources, this.#scans));
      this.#reading = known.catch(() => undefined);
      this.#files = { state, known };
    }
    return this.#files.known;
  }
}

function isLost({ seq, hash }: ChainPoint, { head, hashes }: LogReading): boolean {
  return head === undefined || seq > head.seq || (hashes.get(seq) ?? hash) !== hash;
}

/** The newest anchor that states its entry's time. */
export function newestAnchor(anchors: readonly KnownAnchor[]): (KnownAnchor & { ts: string }) | undefined {
  return newestOf(anchors.filter((anchor): anchor is KnownAnchor & { ts: string } => anchor.ts !== undefined));
}

/** A journal that refuses changes to a log that was set back, has no head, has rows after its head, or belongs to another key. */
export function guardJournal(journal: Journal, evidence: Evidence): Journal {
  const required = async (reading: HeadReading): Promise<HeadReading> => {
    await evidence.require(reading.head, journal.contains);
    await evidence.requireOurLog(reading.head);
    return reading;
  };
  return {
    ...journal,
    readHead: async () => required(await journal.readHead()),
    confirmHead: async () => required(await journal.confirmHead()),
    takeTurn: async (known) => {
      const turn = await journal.takeTurn(known);
      return required(turn.reading).then(
        () => turn,
        (error) => {
          turn.end();
          throw error;
        },
      );
    },
    exclusively: (work) => journal.exclusively(async (reading) => work(await required(reading))),
    commit: async (batch) => {
      evidence.requireSound();
      try {
        return await journal.commit(batch);
      } catch (error) {
        throw isCollision(error) ? collided(error) : error;
      }
    },
  };
}

const UNIQUE_VIOLATION = "23505";
/** Primary keys that contain an entry's number. The head decides who writes a number, so no number can be taken earlier. */
const NUMBERED = ["audit_pkey", "transfer_pkey", "trade_pkey", "hedge_pkey"];

function isCollision(error: unknown): boolean {
  if (!(error instanceof StatementFailed) || error.sqlState !== UNIQUE_VIOLATION) return false;
  const { constraint_name } = error.cause as { constraint_name?: string };
  return NUMBERED.includes(constraint_name ?? "");
}

function collided(cause: unknown): Fault {
  return new Fault("INTEGRITY", "Changes are refused: the log has rows after its head", { cause });
}

import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readAuditHead } from "../../queries/audit.ts";
import { type FollowedEntry, readEntriesAfter } from "../../queries/stream.ts";

export type Follower = (entries: readonly FollowedEntry[]) => void;

/** Which entries would survive the loss of the database's server. Followers do not get entries that only the primary has. */
export interface Outlives {
  /** Callers were answered for entries up to this one. */
  acknowledged: () => bigint;
  /** Resolves once this entry, which a read has shown, would survive. */
  confirm: (entry: ChainPoint) => Promise<void>;
}

const ALL: Outlives = { acknowledged: () => 0n, confirm: async () => {} };
const INTERVAL_MS = 500;
/** After a commit of this process the tail waits this long for further commits, so that many cost one query. */
const WAKE_MS = 15;
const PAGE = 500;

/**
 * Follows the audit log while it has followers: the whole process makes one small query per interval, and one right
 * after its own commits. Commits of other processes are seen within the interval.
 */
export class AuditTail {
  readonly #reader: Reader;
  readonly #isSealed: IsSealed;
  readonly #onError: (error: unknown) => void;
  readonly #outlives: Outlives;
  readonly #followers = new Set<Follower>();
  /** The last entry that was delivered. */
  #position = 0n;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #running = false;
  /** Whether the previous round failed; consecutive failures are reported once. */
  #isFailing = false;
  #starting: Promise<void> | undefined;

  constructor(reader: Reader, isSealed: IsSealed, onError: (error: unknown) => void = () => {}, outlives = ALL) {
    this.#reader = reader;
    this.#isSealed = isSealed;
    this.#outlives = outlives;
    this.#onError = onError;
  }

  /**
   * Delivers every entry after the returned position to `follower`, in order and once.
   * @returns the position, which would survive the loss of the database's server, and a function that stops the delivery
   */
  async follow(follower: Follower): Promise<{ position: bigint; stop: () => void }> {
    if (this.#followers.size === 0) {
      this.#starting ??= this.#start().finally(() => {
        this.#starting = undefined;
      });
      await this.#starting;
    }
    this.#followers.add(follower);
    this.#schedule(INTERVAL_MS);
    const stop = (): void => {
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.#cancel();
    };
    return { position: this.#position, stop };
  }

  /** Call after a commit. Costs nothing without followers. */
  wake(): void {
    if (this.#followers.size > 0) this.#schedule(WAKE_MS);
  }

  close(): void {
    this.#followers.clear();
    this.#cancel();
  }

  /**
   * Resolves once an entry shown by a read would survive the loss of the database's server. If an entry were lost,
   * other entries would take its place, and a reader that continued after it would never see them.
   */
  async outlives(entry: ChainPoint): Promise<void> {
    if (entry.seq > this.#outlives.acknowledged()) await this.#outlives.confirm(entry);
  }

  /** Entries after `after`, oldest first, in the followers' form. */
  entriesAfter(after: bigint, limit: number): Promise<FollowedEntry[]> {
    return this.#reader.read((sql) => readEntriesAfter(sql, { after, limit }, this.#isSealed));
  }

  async #start(): Promise<void> {
    const head = await this.#reader.read(readAuditHead);
    await this.outlives(head);
    this.#position = head.seq;
  }

  #schedule(delayMs: number): void {
    if (this.#running) {
      // The current round schedules the next one; this may make that round due sooner.
      this.#dueAt = Math.min(this.#dueAt, performance.now() + delayMs);
      return;
    }
    const dueAt = performance.now() + delayMs;
    if (this.#timer && this.#dueAt <= dueAt) return;
    this.#cancel();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => void this.#round(), delayMs).unref();
  }

  #cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #round(): Promise<void> {
    this.#timer = undefined;
    this.#running = true;
    this.#dueAt = performance.now() + INTERVAL_MS;
    try {
      const entries = await this.#outliving(await this.entriesAfter(this.#position, PAGE));
      const last = entries.at(-1);
      if (last) this.#position = last.seq;
      if (entries.length === PAGE) this.#dueAt = 0;
      for (const follower of entries.length > 0 ? [...this.#followers] : []) this.#hand(entries, follower);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#onError(error);
      this.#isFailing = true;
    }
    this.#running = false;
    if (this.#followers.size > 0) this.#schedule(Math.max(0, this.#dueAt - performance.now()));
  }

  /** Entries after the last acknowledged one wait for the next round, unless there are no others. */
  async #outliving(entries: FollowedEntry[]): Promise<FollowedEntry[]> {
    const { acknowledged, confirm } = this.#outlives;
    const upTo = acknowledged();
    const known = entries.filter(({ seq }) => seq <= upTo);
    const last = entries.at(-1);
    if (!last || known.length > 0) return known;
    await confirm(last);
    return entries;
  }

  /** A follower that fails does not stop delivery to the others. */
  #hand(entries: readonly FollowedEntry[], follower: Follower): void {
    try {
      follower(entries);
    } catch (error) {
      this.#onError(error);
    }
  }
}

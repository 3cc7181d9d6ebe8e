import { setTimeout as delay } from "node:timers/promises";
import { type AnchorLine, signAnchor } from "../../domain/audit/anchor.ts";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { MINUTE_MS } from "../../domain/time/units.ts";

/** A destination of anchors. */
export interface AnchorTarget {
  /** Its label in metrics. */
  kind: "directory" | "file" | "exec" | "url" | "receivers";
  /** Its name in the log. */
  place: string;
  /** Resolves or rejects within bounded time. */
  write(anchor: AnchorLine): Promise<void>;
}

export interface AnchorWriterOptions {
  tenant: string;
  /** The key that signs. */
  key: AuditKey;
  targets: readonly AnchorTarget[];
  every: { entries: number; minutes: number };
  /** The newest anchor found at startup. */
  newest: KnownAnchor | undefined;
  /** Whether the process has computed every seal up to an entry. Only such an entry is signed. */
  maySign: (head: ChainPoint) => boolean | Promise<boolean>;
  onFailure: (target: AnchorTarget, error: unknown) => void;
}

/** A target, and the newest line that it has not accepted yet. */
interface Line {
  target: AnchorTarget;
  waiting: AnchorLine | undefined;
  /** By the process's monotonic clock. */
  retryAt: number;
  busy: Promise<void> | undefined;
}

/** The shortest time between two anchors of a busy server: each anchor is a write to the disk. */
const SPACING_MS = 250;
const RETRY_MS = 10_000;
const VERIFIED_WITHIN_MS = 5000;
const VERIFIED_AGAIN_MS = 1000;

/**
 * Writes anchors of the log when its head has moved far enough or enough time has passed. No request waits for it. A
 * target that hangs or fails does not delay the others, and later gets the newest line.
 */
export class AnchorWriter {
  readonly #options: AnchorWriterOptions;
  readonly #lines: Line[];
  /** The last anchored entry, and when it was anchored. */
  #anchored: { seq: bigint; at: number };
  #newest: { seq: number; ts: string } | undefined;
  #first = true;
  /** The earliest time to verify an entry again after a failed verification. */
  #verifyAt = 0;
  /** Set while a due entry is being verified. */
  #verifying: Promise<void> | undefined;

  constructor(options: AnchorWriterOptions) {
    this.#options = options;
    this.#lines = options.targets.map((target) => ({ target, waiting: undefined, retryAt: 0, busy: undefined }));
    const { newest } = options;
    this.#anchored = { seq: newest?.seq ?? 0n, at: performance.now() };
    this.#newest = newest?.ts === undefined ? undefined : { seq: Number(newest.seq), ts: newest.ts };
  }

  /** The newest written anchor. */
  get newest(): { seq: number; ts: string } | undefined {
    return this.#newest;
  }

  /**
   * Anchors the log if an anchor is due and the log is verified up to its head. Costs a few comparisons.
   * @param head the log's head, `ts` in milliseconds
   * @param isEnd the server ends: the log is anchored wherever its head is, as at the start
   */
  consider(head: ChainPoint & { ts: number }, isEnd = false): void {
    const now = performance.now();
    if (this.#verifying) {
      if (isEnd) this.#verifying = this.#verifying.then(() => this.#verify(head, true));
    } else if ((isEnd || now >= this.#verifyAt) && this.#isDue(head, now, this.#first || isEnd)) {
      const maySign = this.#options.maySign(head);
      if (maySign === true) this.#anchor(head);
      else if (maySign !== false) this.#verifying = this.#verify(head, isEnd, maySign);
    }
    this.#writeWaiting(now);
  }

  async #verify(
    head: ChainPoint & { ts: number },
    isEnd: boolean,
    maySign = this.#options.maySign(head),
  ): Promise<void> {
    // If the database is away, the next call tries again.
    const isGood = await Promise.resolve(maySign).catch(() => false);
    if (!isGood) this.#verifyAt = performance.now() + VERIFIED_AGAIN_MS;
    if (isGood && this.#isDue(head, performance.now(), true)) this.#anchor(head);
    this.#writeWaiting(performance.now());
    if (!isEnd) this.#verifying = undefined;
  }

  #anchor(head: ChainPoint & { ts: number }): void {
    this.#first = false;
    this.#anchored = { seq: head.seq, at: performance.now() };
    this.#offer(head, this.#lines);
  }

  /**
   * Anchors an entry that the log has lost and that only this process has verified. A restart would forget the entry,
   * and the operator who accepts the loss needs it in the directory. Receivers get only anchors of entries in the log.
   */
  remember(lost: ChainPoint & { ts: number }): void {
    if (lost.seq <= this.#anchored.seq) return;
    this.#anchored = { seq: lost.seq, at: performance.now() };
    this.#offer(
      lost,
      this.#lines.filter(({ target }) => target.kind !== "receivers"),
    );
    this.#writeWaiting(performance.now());
  }

  #offer(head: ChainPoint & { ts: number }, lines: readonly Line[]): void {
    const { tenant, key } = this.#options;
    const anchor = signAnchor(tenant, { ...head, ts: new Date(head.ts).toISOString() }, key);
    for (const line of lines) {
      line.waiting = anchor;
      line.retryAt = 0;
    }
  }

  #writeWaiting(now: number): void {
    for (const line of this.#lines)
      if (line.waiting && !line.busy && now >= line.retryAt) line.busy = this.#write(line);
  }

  /** Resolves when every target has accepted its line or failed. Does not wait for a slow verification. */
  async idle(): Promise<void> {
    await Promise.race([this.#verifying, delay(VERIFIED_WITHIN_MS, undefined, { ref: false })]);
    await Promise.all(this.#lines.map(({ busy }) => busy));
  }

  #isDue({ seq }: ChainPoint, now: number, isEdge: boolean): boolean {
    const { entries, minutes } = this.#options.every;
    const { seq: anchored, at } = this.#anchored;
    // The head moves back only after an accepted rollback; any other setback was refused earlier.
    if (seq === anchored || seq === 0n) return false;
    if (isEdge || seq < anchored) return true;
    if (now - at < SPACING_MS) return false;
    return seq - anchored >= BigInt(entries) || now - at >= minutes * MINUTE_MS;
  }

  async #write(line: Line): Promise<void> {
    while (line.waiting) {
      const anchor = line.waiting;
      line.waiting = undefined;
      try {
        await line.target.write(anchor);
        if (line.target.kind !== "receivers") this.#newest = { seq: anchor.seq, ts: anchor.ts };
      } catch (error) {
        this.#options.onFailure(line.target, error);
        line.waiting ??= anchor;
        line.retryAt = performance.now() + RETRY_MS;
        break;
      }
    }
    line.busy = undefined;
  }
}

import { type AnchorLine, signAnchor } from "../../engine/anchor.ts";
import type { ChainPoint } from "../../engine/chain-walk.ts";
import type { AuditKey } from "../../engine/seal.ts";
import type { KnownAnchor } from "../../engine/set-back.ts";

/** Where anchors go. */
export interface AnchorTarget {
  /** Its label in metrics. */
  kind: "directory" | "file" | "exec" | "url" | "receivers";
  /** Its name in the log. */
  place: string;
  /** Ends in bounded time, one way or the other. */
  write(anchor: AnchorLine): Promise<void>;
}

export interface AnchorWriterOptions {
  tenant: string;
  /** Signs. */
  key: AuditKey;
  targets: readonly AnchorTarget[];
  every: { entries: number; minutes: number };
  /** The newest anchor that was found at the start. */
  newest: KnownAnchor | undefined;
  onFailure: (target: AnchorTarget, error: unknown) => void;
}

/** A target, and the newest line that it has not taken. */
interface Line {
  target: AnchorTarget;
  waiting: AnchorLine | undefined;
  /** By the process's monotonic clock. */
  retryAt: number;
  busy: Promise<void> | undefined;
}

/** A busy server's anchors are no closer than this: each is a write to the disk. */
const SPACING_MS = 250;
const RETRY_MS = 10_000;
const MINUTE_MS = 60_000;

/**
 * Writes anchors of the log beside it: when the head has moved far enough, or long enough ago. Nothing waits for it, and
 * a target that hangs or fails holds up none of the others; it gets the newest line again later.
 */
export class AnchorWriter {
  readonly #options: AnchorWriterOptions;
  readonly #lines: Line[];
  /** Where the log was anchored last, and when. */
  #anchored: { seq: bigint; at: number };
  #newest: { seq: number; ts: string } | undefined;
  #first = true;

  constructor(options: AnchorWriterOptions) {
    this.#options = options;
    this.#lines = options.targets.map((target) => ({ target, waiting: undefined, retryAt: 0, busy: undefined }));
    const { newest } = options;
    this.#anchored = { seq: newest?.seq ?? 0n, at: performance.now() };
    this.#newest = newest?.ts === undefined ? undefined : { seq: Number(newest.seq), ts: newest.ts };
  }

  /** The newest anchor that is written down. */
  get newest(): { seq: number; ts: string } | undefined {
    return this.#newest;
  }

  /**
   * Anchors the log when that is due. Costs a few comparisons.
   * @param head where it stands, `ts` in milliseconds; the log was found sound up to it
   * @param isEnd at a server's end, as at its start, the log is anchored wherever it stands
   */
  consider(head: ChainPoint & { ts: number }, isEnd = false): void {
    const now = performance.now();
    const isFirst = this.#first;
    this.#first = false;
    if (this.#isDue(head, now, isFirst || isEnd)) {
      this.#anchored = { seq: head.seq, at: now };
      this.#offer(head, this.#lines);
    }
    this.#writeWaiting(now);
  }

  /**
   * Writes down an entry that the log has lost and only this process knows of: a restart would forget it, and whoever is
   * to give it up finds it in the directory. Receivers are told of entries that the log holds, and not of this one.
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

  /** Resolves when every target has taken its line or failed at it. */
  async idle(): Promise<void> {
    await Promise.all(this.#lines.map(({ busy }) => busy));
  }

  #isDue({ seq }: ChainPoint, now: number, isEdge: boolean): boolean {
    const { entries, minutes } = this.#options.every;
    const { seq: anchored, at } = this.#anchored;
    // Down only after an accepted rollback: whatever else went down was refused before it came here.
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

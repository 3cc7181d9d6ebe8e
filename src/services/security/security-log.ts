import { createHash } from "node:crypto";
import { type Origin, type SecurityEvent, SIGN_IN_ROUTE } from "../../domain/access/security.ts";
import { HOUR_MS, MINUTE_MS } from "../../domain/time/units.ts";
import type { SecurityRow } from "../../ledger/unchained/security-log.ts";
import { withinDeadline } from "../../postgres/client.ts";

const WRITE_EVERY_MS = 2_000;
/** Rows per statement; a statement is sent every two seconds. */
const PORTION = 500;
/** Entries kept while the database is away; beyond this number the oldest is dropped and counted. */
const MAX_ENTRIES = 10_000;
/**
 * For each event and reason: how many new addresses get an entry at once, and how many more each minute. This keeps the
 * rows of ninety days in the millions, whatever the number of attacking addresses.
 */
const ADDRESSES_AT_ONCE = 1_000;
const ADDRESSES_PER_MINUTE = 10;
/** Replaces all addresses beyond these limits, which are counted together. */
const OTHERS = "others";
const STOP_TIMEOUT_MS = 2_000;

/** One event from one address within a minute. */
export type SecurityEntry = Omit<SecurityRow, "id" | "event"> & { event: SecurityEvent };

export interface SecurityListener {
  /** Called for each event. */
  noted?(event: SecurityEvent, reason: string): void;
  /** Called for each new entry, and again with its final count. */
  entry?(entry: SecurityEntry): void;
  /** Called with the number of events dropped because the database was away for too long. */
  dropped?(events: number): void;
}

export interface SecurityLogOptions {
  write(rows: SecurityRow[]): Promise<void>;
  /** Milliseconds since the epoch. */
  now?: (() => number) | undefined;
}

interface Held {
  entry: SecurityEntry;
  window: number;
  endsAt: number;
  unwritten: number;
  isWritten: boolean;
  told: number;
}

/**
 * Security events of the server: one entry per event, reason, detail, address and minute, and another one for sign-ins
 * to the console. Uses of an admin key get one entry per key, address and hour. Noting an event costs a map lookup. Rows are written in the background, a limited
 * number at a time, and no request waits. The events are not in the audit chain, because an attack must not grow the
 * tenant's ordered log.
 */
export class SecurityLog {
  readonly #write: SecurityLogOptions["write"];
  readonly #now: () => number;
  readonly #held = new Map<string, Held>();
  /** For each event and reason: how many new addresses may still get an entry, and as of when. */
  readonly #room = new Map<string, { left: number; at: number }>();
  #listener: SecurityListener = {};
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isStopped = false;

  constructor({ write, now = () => Math.floor(performance.timeOrigin + performance.now()) }: SecurityLogOptions) {
    this.#write = write;
    this.#now = now;
  }

  /** Sets the listener, which is notified of events in addition to the database. */
  listen(listener: SecurityListener): void {
    this.#listener = listener;
  }

  /** How many entries are in memory. */
  get size(): number {
    return this.#held.size;
  }

  /** @param detail a refinement of the reason from a closed list, since each value gets its own entry */
  note(event: SecurityEvent, reason: string, origin: Origin, detail: string | null = null): void {
    const now = this.#now();
    const held = this.#find({ event, reason, detail }, origin, now);
    const isUse = event === "key.used";
    if (isUse && held.entry.count > 0) return;
    held.entry.count += 1;
    held.unwritten += 1;
    this.#listener.noted?.(event, reason);
    this.#writeSoon();
  }

  /** Writes all unwritten entries. */
  async flush(): Promise<void> {
    await this.#writing?.catch(() => {});
    // Bounded, because events may arrive faster than they can be written.
    for (let portions = MAX_ENTRIES / PORTION; portions > 0 && this.#unwritten().length > 0; portions--)
      await this.#writePortion();
  }

  /** Writes the remaining entries, unless the database is away, and accepts no more events. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#tell(Number.POSITIVE_INFINITY);
    await withinDeadline(this.flush(), STOP_TIMEOUT_MS).catch(() => {});
  }

  #find(what: Pick<SecurityEntry, "event" | "reason" | "detail">, origin: Origin, now: number): Held {
    const { event, reason, detail } = what;
    const window = event === "key.used" ? HOUR_MS : MINUTE_MS;
    const startsAt = now - (now % window);
    const subject = event === "key.used" ? origin.fingerprint : null;
    const keyOf = ({ address, route }: Pick<Origin, "address" | "route">) => {
      const place = event !== "key.used" && route === SIGN_IN_ROUTE ? route : null;
      return JSON.stringify([
        startsAt,
        event,
        reason,
        address,
        subject,
        ...[detail, place].filter((each) => each !== null),
      ]);
    };
    const known = this.#held.get(keyOf(origin));
    if (known) return known;
    const hasRoom = this.#takeRoom(`${event} ${reason}`, now);
    const seen = hasRoom ? origin : { address: OTHERS, fingerprint: null, keyName: null, route: null };
    const key = keyOf(seen);
    const others = this.#held.get(key);
    if (others) return others;
    const entry = { ts: now, ...what, ...seen, count: 0 };
    const held = { entry, window, endsAt: startsAt + window, unwritten: 0, isWritten: false, told: 0 };
    this.#held.set(key, held);
    if (this.#held.size > MAX_ENTRIES) this.#dropOldest();
    return held;
  }

  #takeRoom(pair: string, now: number): boolean {
    const room = this.#room.get(pair) ?? { left: ADDRESSES_AT_ONCE, at: now };
    const gained = (Math.max(0, now - room.at) / MINUTE_MS) * ADDRESSES_PER_MINUTE;
    const left = Math.min(ADDRESSES_AT_ONCE, room.left + gained);
    const hasRoom = left >= 1;
    this.#room.set(pair, { left: hasRoom ? left - 1 : left, at: now });
    return hasRoom;
  }

  /** A Map iterates in insertion order. */
  #dropOldest(): void {
    const [[key, held] = []] = this.#held;
    if (key === undefined || held === undefined) return;
    this.#held.delete(key);
    if (held.unwritten > 0) this.#listener.dropped?.(held.unwritten);
  }

  #writeSoon(): void {
    if (this.#isStopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#tick();
    }, WRITE_EVERY_MS).unref();
  }

  async #tick(): Promise<void> {
    const now = this.#now();
    this.#tell(now);
    // Failed entries are retried two seconds later; an unavailable database is reported elsewhere.
    await this.#writePortion().catch(() => {});
    for (const [key, { endsAt, unwritten }] of this.#held) if (endsAt <= now && unwritten === 0) this.#held.delete(key);
    if (this.#held.size > 0) this.#writeSoon();
  }

  /** Reports new entries, and entries whose window has ended with a higher count than reported. */
  #tell(now: number): void {
    for (const held of this.#held.values()) {
      const { entry, endsAt, told } = held;
      if (told > 0 && (endsAt > now || told === entry.count)) continue;
      held.told = entry.count;
      this.#listener.entry?.({ ...entry });
    }
  }

  /** New entries first, because a growing count may wait. */
  #unwritten(): [string, Held][] {
    const waiting = [...this.#held].filter(([, { unwritten }]) => unwritten > 0);
    return waiting.sort(([, a], [, b]) => Number(a.isWritten) - Number(b.isWritten));
  }

  #writePortion(): Promise<void> {
    this.#writing ??= this.#writeRows(this.#unwritten().slice(0, PORTION)).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeRows(portion: [string, Held][]): Promise<void> {
    if (portion.length === 0) return;
    const rows = portion.map(([key, { entry, unwritten }]) => ({ ...entry, id: idOf(key), count: unwritten }));
    await this.#write(rows);
    portion.forEach(([, held], index) => {
      held.unwritten -= rows[index]?.count ?? 0;
      held.isWritten = true;
    });
  }
}

function idOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 32);
}

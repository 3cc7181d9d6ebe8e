import { createHash } from "node:crypto";
import type { Origin, SecurityEvent } from "../../domain/access/security.ts";
import { HOUR_MS, MINUTE_MS } from "../../domain/time/units.ts";
import type { SecurityRow } from "../../ledger/unchained/security-log.ts";
import { withinDeadline } from "../../postgres/client.ts";

const WRITE_EVERY_MS = 2_000;
/** Rows per statement; one statement is sent every two seconds. */
const PORTION = 500;
/** Entries kept while the database is away; beyond this the oldest is dropped and counted. */
const MAX_ENTRIES = 10_000;
/**
 * For each event and reason: how many new addresses get an entry at once, and how many more each minute. The rows of
 * ninety days stay in the millions, whatever the number of addresses that an attack comes from.
 */
const ADDRESSES_AT_ONCE = 1_000;
const ADDRESSES_PER_MINUTE = 10;
/** Stands for all addresses beyond these bounds, which are counted together. */
const OTHERS = "others";
const STOP_TIMEOUT_MS = 2_000;

/** One event from one address within a minute. */
export type SecurityEntry = Omit<SecurityRow, "id" | "event"> & { event: SecurityEvent };

export interface SecurityListener {
  /** Called for each event. */
  noted?(event: SecurityEvent, reason: string): void;
  /** Called for each new entry, and again with its final count. */
  entry?(entry: SecurityEntry): void;
  /** Called with the number of events that were dropped because the database was away for too long. */
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
 * Security events of the server: one entry per event, reason, detail, address and minute, and for uses of an admin key one per
 * key, address and hour. Noting an event costs a lookup in a map; rows are written in the background, a bounded number
 * at a time, and no request waits for them. They are not in the audit chain: an attack must not make the tenant's one
 * ordered log grow.
 */
export class SecurityLog {
  readonly #write: SecurityLogOptions["write"];
  readonly #now: () => number;
  readonly #held = new Map<string, Held>();
  /** By event and reason: how many new addresses may still get an entry, and as of when. */
  readonly #room = new Map<string, { left: number; at: number }>();
  #listener: SecurityListener = {};
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isStopped = false;

  constructor({ write, now = () => Math.floor(performance.timeOrigin + performance.now()) }: SecurityLogOptions) {
    this.#write = write;
    this.#now = now;
  }

  /** Sets the listener, which hears of events besides the database. */
  listen(listener: SecurityListener): void {
    this.#listener = listener;
  }

  /** How many entries are in memory. */
  get size(): number {
    return this.#held.size;
  }

  /** @param detail what the reason leaves open: a word of a closed list, since each one makes an entry of its own */
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
    // Bounded, because more may arrive than can be written.
    for (let portions = MAX_ENTRIES / PORTION; portions > 0 && this.#unwritten().length > 0; portions--)
      await this.#writePortion();
  }

  /** Writes what is left, unless the database is away, and accepts no more events. */
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
    const keyOf = (address: string | null) =>
      JSON.stringify([startsAt, event, reason, address, subject, ...(detail === null ? [] : [detail])]);
    const known = this.#held.get(keyOf(origin.address));
    if (known) return known;
    const hasRoom = this.#takeRoom(`${event} ${reason}`, now);
    const seen = hasRoom ? origin : { address: OTHERS, fingerprint: null, keyName: null, route: null };
    const key = keyOf(seen.address);
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

  /** A Map keeps the order of insertion. */
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
    // Entries that fail now are written two seconds later; a database that is away is reported elsewhere.
    await this.#writePortion().catch(() => {});
    for (const [key, { endsAt, unwritten }] of this.#held) if (endsAt <= now && unwritten === 0) this.#held.delete(key);
    if (this.#held.size > 0) this.#writeSoon();
  }

  /** Of new entries, and of those whose window is over and whose count has grown since they were told of. */
  #tell(now: number): void {
    for (const held of this.#held.values()) {
      const { entry, endsAt, told } = held;
      if (told > 0 && (endsAt > now || told === entry.count)) continue;
      held.told = entry.count;
      this.#listener.entry?.({ ...entry });
    }
  }

  /** New entries first: a count that grows may wait. */
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

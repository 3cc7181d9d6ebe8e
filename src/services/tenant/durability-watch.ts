import {
  type DatabaseState,
  followStandbys,
  isStalled,
  type Progress,
  promisesOf,
  standbysMissing,
  waitsInVain,
} from "../../domain/durability.ts";
import { Fault } from "../../domain/fault.ts";
import { withinDeadline } from "../../postgres/client.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readDurability, type ServerReading } from "../../queries/server.ts";

/** What the server itself tells: all but the backups, which are files. */
export type Durability = Omit<DatabaseState, "lastBackupAt">;

export interface DurabilityOptions {
  reader: Reader;
  /** Names the server that answered. */
  placeOf(address: ServerReading["address"]): string;
  /** Standbys without which changes are refused. */
  required: number;
}

/** A reading of this age is given again, so that callers who ask often do not load the database. */
const FRESH_MS = 1000;
const TIMEOUT_MS = 1500;
/** A promise that is not kept stops changes within 5 s: the next reading comes after one, and one that is older counts for nothing. */
const POLL_MS = 1000;
const VALID_MS = 4000;

/** Knows what an acknowledged change survives. */
export class DurabilityWatch {
  readonly #options: DurabilityOptions;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<Durability | null> = Promise.resolve(null);
  #known: { state: Durability; askedAt: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Of the primaries that have answered, the first and the latest. */
  #timelines: { first: number; latest: number } | undefined;
  #progress: Progress = new Map();

  constructor(options: DurabilityOptions) {
    this.#options = options;
  }

  /** At most 2.5 s old, and resolves within 1.5 s; null while no primary answers. */
  read(): Promise<Durability | null> {
    if (performance.now() - this.#readAt > FRESH_MS) this.#renew();
    return this.#reading;
  }

  /** Whether commits wait for a standby that is away; false as well while no primary answers. */
  async waitsInVain(): Promise<boolean> {
    const state = await this.read();
    return state !== null && waitsInVain(state);
  }

  /** How often another server has been made the primary since the first answer. */
  get failovers(): number {
    return this.#timelines === undefined ? 0 : this.#timelines.latest - this.#timelines.first;
  }

  /** Looks at once, and from now on, where standbys are required. */
  async start(): Promise<void> {
    if (this.#options.required === 0) return;
    await this.read();
    this.#timer = setInterval(() => this.#renew(), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Why changes are refused at present; undefined while as many standbys are there as are required. */
  get refusal(): Fault | undefined {
    const { required } = this.#options;
    if (required === 0) return undefined;
    if (!this.#known || performance.now() - this.#known.askedAt > VALID_MS)
      return new Fault(
        "DATABASE_UNAVAILABLE",
        "The database does not tell which standbys it has; nothing was executed",
      );
    return standbysMissing(this.#known.state, required);
  }

  #renew(): void {
    const askedAt = performance.now();
    this.#readAt = askedAt;
    this.#reading = withinDeadline(this.#ask(), TIMEOUT_MS).catch(() => null);
    void this.#reading.then((state) => {
      if (state) this.#known = { state, askedAt };
    });
  }

  async #ask(): Promise<Durability | null> {
    const { reader, placeOf, required } = this.#options;
    const {
      address,
      isStandby,
      timeline,
      manager,
      standbys,
      fullPageWrites: _,
      ...facts
    } = await reader.read(readDurability);
    if (isStandby) return null;
    const { first = timeline, latest = timeline } = this.#timelines ?? {};
    this.#timelines = { first, latest: Math.max(latest, timeline) };
    const now = performance.now();
    const progress = followStandbys(this.#progress, standbys ?? [], now);
    this.#progress = progress;
    const there = standbys?.filter((standby) => !isStalled(progress, standby, now)) ?? null;
    return {
      ...{ host: placeOf(address), ...facts },
      standbys: standbys?.map(({ pid: _, flushed: __, ...standby }) => standby) ?? null,
      ...promisesOf({ ...facts, standbys: there, manager }),
      required,
    };
  }
}

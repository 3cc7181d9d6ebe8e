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

/** What the database server reports: everything except the backups, which are files. */
export type Durability = Omit<DatabaseState, "lastBackupAt">;

export interface DurabilityOptions {
  reader: Reader;
  /** The name of the server that answered. */
  placeOf(address: ServerReading["address"]): string;
  /** Standbys without which changes are refused. */
  required: number;
}

/** A reading of up to this age is reused, so that frequent callers do not load the database. */
const FRESH_MS = 1000;
const TIMEOUT_MS = 1500;
/** A lost standby must stop changes within 5 s: readings repeat at this interval, and old readings are ignored. */
const POLL_MS = 1000;
const VALID_MS = 4000;

/** Knows which failures an acknowledged change survives. */
export class DurabilityWatch {
  readonly #options: DurabilityOptions;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<Durability | null> = Promise.resolve(null);
  #known: { state: Durability; askedAt: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The timelines of the first and the latest primary that answered. */
  #timelines: { first: number; latest: number } | undefined;
  #progress: Progress = new Map();

  constructor(options: DurabilityOptions) {
    this.#options = options;
  }

  /** A reading at most 2.5 s old, within 1.5 s; null while no primary answers. */
  read(): Promise<Durability | null> {
    if (performance.now() - this.#readAt > FRESH_MS) this.#renew();
    return this.#reading;
  }

  /** Whether commits wait for a standby that is away; also false while no primary answers. */
  async waitsInVain(): Promise<boolean> {
    const state = await this.read();
    return state !== null && waitsInVain(state);
  }

  /** How often another server has become the primary since the first answer. */
  get failovers(): number {
    return this.#timelines === undefined ? 0 : this.#timelines.latest - this.#timelines.first;
  }

  /** If standbys are required, reads now and from now on. */
  async start(): Promise<void> {
    if (this.#options.required === 0) return;
    await this.read();
    this.#timer = setInterval(() => this.#renew(), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Why changes are currently refused; undefined while enough standbys are connected. */
  get refusal(): Fault | undefined {
    const { required } = this.#options;
    if (required === 0) return undefined;
    if (!this.#known || performance.now() - this.#known.askedAt > VALID_MS)
      return new Fault("DATABASE_UNAVAILABLE", "The database does not report its standbys; nothing was executed");
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

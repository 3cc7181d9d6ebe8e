import { type DatabaseState, promisesOf } from "../../domain/durability.ts";
import { withinDeadline } from "../../postgres/client.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readDurability, type ServerReading } from "../../queries/server.ts";

/** What the server itself tells: all but the backups, which are files. */
export type Durability = Omit<DatabaseState, "lastBackupAt">;

export interface DurabilityOptions {
  reader: Reader;
  /** Names the server that answered. */
  placeOf(address: ServerReading["address"]): string;
  /** Whether the sessions that commit ask for the disk themselves, whatever the database's setting. */
  synchronous: boolean;
  required: number;
}

/** A reading of this age is given again, so that callers who ask often do not load the database. */
const FRESH_MS = 1000;
const TIMEOUT_MS = 1500;

/** Knows what an acknowledged change survives. */
export class DurabilityWatch {
  readonly #options: DurabilityOptions;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<Durability | null> = Promise.resolve(null);

  constructor(options: DurabilityOptions) {
    this.#options = options;
  }

  /** At most 2.5 s old, and resolves within 1.5 s; null while no primary answers. */
  read(): Promise<Durability | null> {
    if (performance.now() - this.#readAt > FRESH_MS) {
      this.#readAt = performance.now();
      this.#reading = withinDeadline(this.#ask(), TIMEOUT_MS).catch(() => null);
    }
    return this.#reading;
  }

  async #ask(): Promise<Durability | null> {
    const { reader, synchronous, placeOf, required } = this.#options;
    const { address, isStandby, manager, ...facts } = await reader.read(readDurability);
    if (isStandby) return null;
    const synchronousCommit = synchronous ? "on" : facts.synchronousCommit;
    return {
      ...{ host: placeOf(address), ...facts, synchronousCommit },
      ...promisesOf({ ...facts, synchronousCommit, manager }),
      required,
    };
  }
}

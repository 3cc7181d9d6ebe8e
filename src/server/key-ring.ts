import { createHash } from "node:crypto";
import { Fault } from "../domain/fault.ts";
import type { ApiKey } from "../engine/rows.ts";
import type { IsSealed } from "../engine/seal.ts";
import { withinDeadline } from "../store/client.ts";
import { listApiKeys } from "../store/load-standing.ts";
import type { Reader } from "../store/pool.ts";
import { monotonicMs, wallClockMs } from "./clock.ts";

const REFRESH_AFTER_MS = 500;
const STALE_AFTER_MS = 1000;
const REFRESH_TIMEOUT_MS = 2000;

/**
 * The tenant's API keys in memory, never older than a second: a key revoked in one process is refused in all within that time.
 *
 * Keys are found by their SHA-256 in a hash table. That needs no constant-time comparison: whoever varies a key cannot
 * steer its digest, so the time a lookup takes tells nothing about the digests stored.
 */
export class KeyRing {
  readonly #reader: Reader;
  readonly #isSealed: IsSealed;
  #byHash = new Map<string, ApiKey>();
  /** Spares the hashing of keys in use. Holds texts of existing keys only, so it is never larger than the ring. */
  readonly #hashByText = new Map<string, string>();
  #loadedAt = Number.NEGATIVE_INFINITY;
  #refresh: Promise<void> | undefined;
  /** Moves on when the keys have changed under a load that is under way. */
  #generation = 0;

  constructor(reader: Reader, isSealed: IsSealed) {
    this.#reader = reader;
    this.#isSealed = isSealed;
  }

  /**
   * Resolves when the ring is fresh enough to decide; undefined when it already is. Between half a second and a second of
   * age it refreshes in the background, so that under load nobody waits.
   * @throws Fault DATABASE_UNAVAILABLE when it is too old and cannot be renewed: a revoked key must not live on.
   */
  ready(): Promise<void> | undefined {
    const age = monotonicMs() - this.#loadedAt;
    if (age < REFRESH_AFTER_MS) return undefined;
    this.#refresh ??= this.#startLoading();
    if (age >= STALE_AFTER_MS) return this.#refresh;
    // Nobody waits for this one; the next request that finds the ring too old reports the trouble.
    this.#refresh.catch(() => {});
    return undefined;
  }

  /** After a change of the keys by this process: the next request waits for the ring as it is now. */
  forget(): void {
    this.#generation += 1;
    this.#loadedAt = Number.NEGATIVE_INFINITY;
    this.#refresh = undefined;
  }

  #startLoading(): Promise<void> {
    const generation = this.#generation;
    return this.#load(generation).finally(() => {
      if (generation === this.#generation) this.#refresh = undefined;
    });
  }

  /** The key with this text, unless it is unknown or has expired. Call `ready` first. */
  find(text: string): ApiKey | undefined {
    const key = this.#byHash.get(this.#hashByText.get(text) ?? this.#remember(text));
    return key && (key.expiresAt === null || wallClockMs() < key.expiresAt) ? key : undefined;
  }

  #remember(text: string): string {
    const hash = createHash("sha256").update(text).digest("hex");
    if (this.#byHash.has(hash)) this.#hashByText.set(text, hash);
    return hash;
  }

  async #load(generation: number): Promise<void> {
    // What the query returns is as of its start, so the age counts from there.
    const startedAt = monotonicMs();
    let keys: ApiKey[];
    try {
      // While the database is away the driver holds queries back; nobody should wait that long.
      keys = await withinDeadline(
        this.#reader.read((sql) => listApiKeys(sql, this.#isSealed, { inForce: true })),
        REFRESH_TIMEOUT_MS,
      );
    } catch (cause) {
      throw new Fault("DATABASE_UNAVAILABLE", "The service cannot check keys at the moment", { cause });
    }
    // The keys have changed meanwhile: whoever waits here must not decide by what there was before.
    if (generation !== this.#generation) {
      this.#refresh ??= this.#startLoading();
      return this.#refresh;
    }
    this.#byHash = new Map(keys.map((key) => [key.hash, key]));
    for (const [text, hash] of this.#hashByText) if (!this.#byHash.has(hash)) this.#hashByText.delete(text);
    this.#loadedAt = startedAt;
  }
}

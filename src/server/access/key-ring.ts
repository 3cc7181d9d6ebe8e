import { createHash } from "node:crypto";
import type { IsSealed } from "../../domain/audit/seal.ts";
import type { ApiKey } from "../../engine/rows.ts";
import { listApiKeys } from "../../ledger/load-standing.ts";
import type { Reader } from "../../postgres/pool.ts";
import { wallClockMs } from "../clock.ts";
import { Freshness } from "../freshness.ts";
import { CredentialWatch } from "./credential-watch.ts";

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
  readonly #freshness: Freshness;
  readonly #watch: CredentialWatch;

  constructor(reader: Reader, isSealed: IsSealed) {
    this.#reader = reader;
    this.#isSealed = isSealed;
    this.#freshness = new Freshness(() => this.#load(), "The service cannot check keys at the moment");
    // While the database is away no key ends that is not known to have ended.
    this.#watch = new CredentialWatch(() => void this.#freshness.ready()?.catch(() => {}));
  }

  /** @throws Fault DATABASE_UNAVAILABLE when the ring is too old and cannot be renewed */
  ready(): Promise<void> | undefined {
    return this.#freshness.ready();
  }

  /** After a change of the keys by this process: the next request waits for the ring as it is now. */
  forget(): void {
    this.#freshness.forget();
    this.#watch.look();
  }

  /** The key with this text, unless it is unknown or has expired. Call `ready` first. */
  find(text: string): ApiKey | undefined {
    const key = this.#byHash.get(this.#hashByText.get(text) ?? this.#remember(text));
    return key && (key.expiresAt === null || wallClockMs() < key.expiresAt) ? key : undefined;
  }

  /**
   * Calls back soon after any key was revoked, whether or not requests come in.
   * @returns how to stop it
   */
  watch(onEnded: () => void): () => void {
    return this.#watch.add(onEnded);
  }

  #remember(text: string): string {
    const hash = createHash("sha256").update(text).digest("hex");
    if (this.#byHash.has(hash)) this.#hashByText.set(text, hash);
    return hash;
  }

  async #load(): Promise<() => void> {
    const keys = await this.#reader.read((sql) => listApiKeys(sql, this.#isSealed, { inForce: true }));
    return () => {
      const before = this.#byHash;
      this.#byHash = new Map(keys.map((key) => [key.hash, key]));
      for (const [text, hash] of this.#hashByText) if (!this.#byHash.has(hash)) this.#hashByText.delete(text);
      for (const hash of before.keys()) if (!this.#byHash.has(hash)) return this.#watch.tell();
    };
  }
}

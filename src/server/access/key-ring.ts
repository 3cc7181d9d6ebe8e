import { createHash } from "node:crypto";
import type { IsSealed } from "../../domain/audit/seal.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { ApiKey } from "../../engine/rows.ts";
import { listApiKeys } from "../../ledger/standing.ts";
import type { Reader } from "../../postgres/pool.ts";
import { FreshCredentials } from "./fresh-credentials.ts";

/**
 * The tenant's API keys in memory, at most a second old: a key revoked in one process is refused in all within that time.
 *
 * Keys are found by their SHA-256 in a hash table. A constant-time comparison is not needed: an attacker who varies a
 * key cannot steer its digest, so the duration of a lookup reveals nothing about the stored digests.
 */
export class KeyRing extends FreshCredentials {
  protected readonly unavailable = "The database is away, so no key can be checked: try again in a moment";
  readonly #reader: Reader;
  readonly #isSealed: IsSealed;
  #byHash = new Map<string, ApiKey>();
  /** Saves hashing the key at each request. Holds texts of existing keys only, so it is never larger than the ring. */
  readonly #hashByText = new Map<string, string>();

  constructor(reader: Reader, isSealed: IsSealed) {
    super();
    this.#reader = reader;
    this.#isSealed = isSealed;
  }

  /** The key with this text, unless it is unknown or has expired. Call `ready` first. */
  find(text: string): ApiKey | undefined {
    return this.byHash(this.#hashByText.get(text) ?? this.#remember(text));
  }

  /** The key with this SHA-256, as `find` returns it. */
  byHash(hash: string): ApiKey | undefined {
    const key = this.#byHash.get(hash);
    return key && (key.expiresAt === null || wallClockMs() < key.expiresAt) ? key : undefined;
  }

  #remember(text: string): string {
    const hash = createHash("sha256").update(text).digest("hex");
    if (this.#byHash.has(hash)) this.#hashByText.set(text, hash);
    return hash;
  }

  protected async read(): Promise<() => boolean> {
    const keys = await this.#reader.read((sql) => listApiKeys(sql, this.#isSealed, { inForce: true }));
    return () => {
      const before = this.#byHash;
      this.#byHash = new Map(keys.map((key) => [key.hash, key]));
      for (const [text, hash] of this.#hashByText) if (!this.#byHash.has(hash)) this.#hashByText.delete(text);
      return [...before.keys()].some((hash) => !this.#byHash.has(hash));
    };
  }
}

import { constants, readFile } from "node:fs/promises";
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import type { OutgoingHttp } from "../../outgoing/guarded-fetch.ts";

/** At most two loads a minute, however many unknown key ids arrive. With the 5 s of a load, a rotation is seen within 36 s. */
const COOLDOWN_MS = 31_000;
/** Every user token is refused until a first set is loaded, so the load is retried sooner. */
const FIRST_COOLDOWN_MS = 5_000;
/** A set older than this is used only after another attempt to load. */
const STALE_MS = 36_000;
/** How long the last loaded set is used while its source is unreadable. */
const LAST_GOOD_MS = DAY_MS;
const LOAD_TIMEOUT_MS = 5_000;
const LIMIT_BYTES = 256 * 1024;

export interface KeySetOptions {
  /** Milliseconds that never step back. */
  now?: () => number;
  onError?: (error: unknown) => void;
}

/** The public keys that verify user tokens, kept as current as their issuer publishes them. */
export class KeySet {
  readonly #load: () => Promise<string>;
  readonly #now: () => number;
  readonly #onError: (error: unknown) => void;
  #select: JWTVerifyGetKey | undefined;
  #text = "";
  #loadedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  #failure: unknown;
  /** Rises when the set changes: a token that was verified before may no longer be valid. */
  generation = 0;

  constructor(load: () => Promise<string>, { now = monotonicMs, onError = () => {} }: KeySetOptions = {}) {
    this.#load = load;
    this.#now = now;
    this.#onError = onError;
  }

  /**
   * Starts a load if one is due. Returns a promise only if the set is too old to be used before the load. After a failed
   * load it returns none: the last good set is used in any case, and an issuer that hangs would delay all requests.
   */
  ready(): Promise<void> | undefined {
    const now = this.#now();
    if (now - this.#loadedAt < COOLDOWN_MS) return undefined;
    const isUsable = now - this.#loadedAt < STALE_MS || (this.#select && now - this.#failedAt < STALE_MS);
    const loading = this.#reload();
    return isUsable ? undefined : loading;
  }

  /** For `jwtVerify`. @throws JWKSNoMatchingKey; Fault TOKEN_KEYS_UNAVAILABLE while no usable set is loaded */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    await this.ready();
    try {
      return await this.#selector()(header, token);
    } catch (error) {
      // An unknown id may name a new key. Within the cooldown the token is refused, so that invented ids cause no loads.
      const reloading = error instanceof errors.JWKSNoMatchingKey ? this.#reload() : undefined;
      if (!reloading) throw error;
      await reloading;
      return this.#selector()(header, token);
    }
  };

  #selector(): JWTVerifyGetKey {
    if (this.#select && this.#now() - this.#loadedAt < LAST_GOOD_MS) return this.#select;
    throw new Fault("TOKEN_KEYS_UNAVAILABLE", "User tokens cannot be checked at the moment", {
      // The reason names addresses of the tenant: `pmctl why` and the log have it, and no caller.
      detail: { problem: this.#failure instanceof Error ? this.#failure.message : "it is not loaded yet" },
      cause: this.#failure,
      retryAfterSec: FIRST_COOLDOWN_MS / 1000,
    });
  }

  /** The load in progress, or a new load; undefined within the cooldown. Never rejects: the last good set stays. */
  #reload(): Promise<void> | undefined {
    if (this.#loading) return this.#loading;
    const cooldown = this.#select ? COOLDOWN_MS : FIRST_COOLDOWN_MS;
    if (this.#now() - this.#triedAt < cooldown) return undefined;
    this.#triedAt = this.#now();
    this.#loading = this.#replace()
      .catch((error: unknown) => {
        this.#failedAt = this.#now();
        this.#failure = error;
        this.#onError(error);
      })
      .finally(() => {
        this.#loading = undefined;
      });
    return this.#loading;
  }

  async #replace(): Promise<void> {
    const startedAt = this.#now();
    const text = await this.#load();
    if (text !== this.#text || !this.#select) {
      this.#select = createLocalJWKSet(JSON.parse(text));
      this.#text = text;
      this.generation += 1;
    }
    this.#loadedAt = startedAt;
  }
}

/** Returns how to read the key set from the place that the tenant file names. */
export function keySetLoader(jwks: { url: string } | { file: string }, outgoing: OutgoingHttp): () => Promise<string> {
  // A named pipe without a writer in place of the file would otherwise block a thread for ever.
  const flag = constants.O_RDONLY | constants.O_NONBLOCK;
  if ("file" in jwks) return () => readFile(jwks.file, { encoding: "utf8", flag });
  return async () => {
    const headers = { accept: "application/jwk-set+json, application/json" };
    const answer = await outgoing.request(jwks.url, { headers, timeoutMs: LOAD_TIMEOUT_MS, limitBytes: LIMIT_BYTES });
    if (answer.status !== 200) throw new Error(`The issuer's key set URL returned HTTP status ${answer.status}`);
    return answer.body.toString();
  };
}

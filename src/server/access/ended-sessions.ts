import type { IsSealed } from "../../domain/audit/seal.ts";
import { HOUR_MS } from "../../domain/time.ts";
import {
  endSession,
  NOTHING_READ,
  type RevocationsRead,
  type RevokedUser,
  readRevocations,
} from "../../ledger/unchained/revocations.ts";
import type { Pool } from "../../postgres/pool.ts";
import { wallClockMs } from "../clock.ts";
import { Freshness } from "../freshness.ts";
import { CredentialWatch } from "./credential-watch.ts";
import { MAX_LIFETIME_SEC, type SessionToken } from "./session-token.ts";

/** For clocks that disagree, and the leeway that a token is given. */
const SLACK_MS = HOUR_MS;
/** What was revoked longer ago concerns only tokens that have expired. */
const LONGEST_TOKEN_MS = MAX_LIFETIME_SEC * 1000 + SLACK_MS;
const SWEEP_EVERY_MS = 60_000;

/**
 * The sessions that were ended before their tokens expire: by their users, token by token, and by operators, all of a
 * user. Shared by all servers of the tenant, and never older than a second here. What is known stays known until the
 * tokens have expired, whatever becomes of the rows.
 */
export class EndedSessions {
  readonly #pool: Pool;
  readonly #isSealed: IsSealed;
  readonly #freshness: Freshness;
  readonly #tokens = new Map<string, number>();
  readonly #users = new Map<string, number>();
  readonly #watch: CredentialWatch;
  #read: RevocationsRead = NOTHING_READ;
  #sweptAt = 0;

  constructor(pool: Pool, isSealed: IsSealed) {
    this.#pool = pool;
    this.#isSealed = isSealed;
    this.#freshness = new Freshness(() => this.#load(), "The service cannot check sessions at the moment");
    // While the database is away no session ends that is not known to have ended.
    this.#watch = new CredentialWatch(() => void this.#freshness.ready()?.catch(() => {}));
  }

  /** @throws Fault DATABASE_UNAVAILABLE when what is known is too old and cannot be renewed */
  ready(): Promise<void> | undefined {
    return this.#freshness.ready();
  }

  /** After a revocation by this process: the next request waits for what there is now. */
  forget(): void {
    this.#freshness.forget();
    this.#watch.look();
  }

  /** Call `ready` first. */
  has({ userId, hash, issuedAtMs }: SessionToken): boolean {
    return this.#tokens.has(hash) || issuedAtMs < (this.#users.get(userId) ?? Number.NEGATIVE_INFINITY);
  }

  /**
   * Ends the session of a token, here at once and everywhere within a second. Only of tokens that were verified.
   * @returns false when it was ended before
   */
  async end({ hash, expiresAtMs }: SessionToken): Promise<boolean> {
    const until = expiresAtMs + SLACK_MS;
    this.#tokens.set(hash, until);
    this.#watch.tell();
    return this.#pool.write((sql) => endSession(sql, hash, until));
  }

  /**
   * Calls back soon after any session ended, whether or not requests come in.
   * @returns how to stop it
   */
  watch(onEnded: () => void): () => void {
    return this.#watch.add(onEnded);
  }

  /** Never backwards; but an entry that holds takes the place of one that was broken. */
  #revoke({ userId, before }: RevokedUser): void {
    const standing = this.#users.get(userId) ?? 0;
    this.#users.set(userId, standing === Number.POSITIVE_INFINITY ? before : Math.max(standing, before));
  }

  async #load(): Promise<() => void> {
    const limits = { longestMs: LONGEST_TOKEN_MS, isSealed: this.#isSealed };
    const { users, ended, ...read } = await this.#pool.read((sql) => readRevocations(sql, this.#read, limits));
    return () => {
      this.#read = read;
      const news = ended.filter(([hash]) => !this.#tokens.has(hash));
      for (const [hash, until] of news) this.#tokens.set(hash, until);
      for (const each of users) this.#revoke(each);
      this.#sweep();
      if (news.length > 0 || users.length > 0) this.#watch.tell();
    };
  }

  /** Forgets what only concerned tokens that have expired. */
  #sweep(): void {
    const now = wallClockMs();
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
    for (const [hash, until] of this.#tokens) if (until < now) this.#tokens.delete(hash);
    for (const [userId, before] of this.#users) if (before < now - LONGEST_TOKEN_MS) this.#users.delete(userId);
  }
}

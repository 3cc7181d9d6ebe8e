import type { IsSealed } from "../../domain/audit/seal.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import {
  type EndedToken,
  NOTHING_READ,
  type RevocationsRead,
  type RevokedUser,
  readRevocations,
} from "../../ledger/unchained/revocations.ts";
import type { Pool } from "../../postgres/pool.ts";
import { FreshCredentials } from "./fresh-credentials.ts";

/** The longest lifetime of a user's token, from `iat` to `exp`. */
export const MAX_LIFETIME_SEC = 24 * 60 * 60;

/** The parts of a verified token that decide whether its session was ended. */
export interface SessionToken {
  userId: string;
  /** SHA-256 in hex of the signed part; the token itself is never stored. */
  hash: string;
  issuedAtMs: number;
  /** The token's `exp`, without the leeway. */
  expiresAtMs: number;
}

/** Records the end of a token's session in the audit log. */
export type RecordEnd = (ended: EndedToken & { userId: string }) => Promise<unknown>;

/** Covers clocks that disagree and the leeway of a token. */
const SLACK_MS = HOUR_MS;
/** A revocation older than this concerns only tokens that have expired. */
const LONGEST_TOKEN_MS = MAX_LIFETIME_SEC * 1000 + SLACK_MS;
const SWEEP_EVERY_MS = 60_000;

/**
 * The sessions that end before their tokens expire: a user ends the session of one token, an operator all sessions of a
 * user. All servers of the tenant read them from the audit log; a server's copy is at most a second old.
 */
export class EndedSessions extends FreshCredentials {
  protected readonly unavailable = "The database is away, so no session can be checked: try again in a moment";
  readonly #pool: Pool;
  readonly #isSealed: IsSealed;
  readonly #record: RecordEnd;
  /** Until when each ended token counts. */
  readonly #tokens = new Map<string, number>();
  /** Ended tokens whose end this process has not yet seen in the log. */
  readonly #unrecorded = new Set<string>();
  readonly #users = new Map<string, number>();
  #readSoFar: RevocationsRead = NOTHING_READ;
  #sweptAt = 0;

  constructor(pool: Pool, isSealed: IsSealed, record: RecordEnd) {
    super();
    this.#record = record;
    this.#pool = pool;
    this.#isSealed = isSealed;
  }

  /** Call `ready` first. */
  has({ userId, hash, issuedAtMs }: SessionToken): boolean {
    return this.#tokens.has(hash) || issuedAtMs < (this.#users.get(userId) ?? Number.NEGATIVE_INFINITY);
  }

  /**
   * Ends the session of a verified token: in this process at once, in all others within a second.
   * @returns false if the session had ended already
   */
  async end({ userId, hash, expiresAtMs }: SessionToken): Promise<boolean> {
    const until = expiresAtMs + SLACK_MS;
    if (this.#tokens.has(hash) && !this.#unrecorded.has(hash)) return false;
    this.#tokens.set(hash, until);
    this.#unrecorded.add(hash);
    this.notifyEnded();
    await this.#record({ userId, tokenSha256: hash, until });
    this.#unrecorded.delete(hash);
    return true;
  }

  /** Moves a user's revocation only forward in time, except that a verified entry replaces an unverified one. */
  #revoke({ userId, before }: RevokedUser): void {
    const standing = this.#users.get(userId) ?? 0;
    this.#users.set(userId, standing === Number.POSITIVE_INFINITY ? before : Math.max(standing, before));
  }

  protected async read(): Promise<() => boolean> {
    const limits = { longestMs: LONGEST_TOKEN_MS, isSealed: this.#isSealed };
    const { users, ended, ...read } = await this.#pool.read((sql) => readRevocations(sql, this.#readSoFar, limits));
    return () => {
      this.#readSoFar = read;
      const added = ended.filter(({ tokenSha256 }) => !this.#tokens.has(tokenSha256));
      for (const { tokenSha256, until } of ended) {
        this.#tokens.set(tokenSha256, until);
        this.#unrecorded.delete(tokenSha256);
      }
      for (const each of users) this.#revoke(each);
      this.#sweep();
      return added.length > 0 || users.length > 0;
    };
  }

  /** Drops entries that concern only expired tokens. */
  #sweep(): void {
    const now = wallClockMs();
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
    for (const [hash, until] of this.#tokens) if (until < now) this.#tokens.delete(hash);
    for (const [userId, before] of this.#users) if (before < now - LONGEST_TOKEN_MS) this.#users.delete(userId);
  }
}

import type { ConsoleEnd } from "../../domain/audit/audit-shapes.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { Command } from "../../engine/commands.ts";
import type { ApiKey } from "../../engine/rows.ts";
import type { Sequencer } from "../../ledger/sequencer/sequencer.ts";
import {
  type OpenConsoleSession,
  readConsoleSession,
  recordConsoleUse,
} from "../../ledger/unchained/console-sessions.ts";
import type { Pool } from "../../postgres/pool.ts";
import { withDatabaseFaults } from "../../services/invoke.ts";
import { BoundedCache } from "../access/bounded-cache.ts";
import type { KeyRing } from "../access/key-ring.ts";
import { hashOf, newToken } from "./cookie.ts";

export interface SessionLimits {
  idleMs: number;
  absoluteMs: number;
}

interface SessionParts {
  pool: Pool;
  sequencer: Sequencer;
  auditKeys: readonly AuditKey[];
  keys: KeyRing;
  limits: SessionLimits;
  /** Called when a person has ended a session. */
  onEnded(): void;
}

/** A signed-in operator. */
export interface ConsoleUser {
  token: string;
  key: ApiKey;
  /** Milliseconds since the epoch by the database's clock, here and below. */
  createdAt: number;
  idleEndsAt: number;
  endsAt: number;
}

/**
 * The largest part of the idle time by which `last_seen_at` may be late. A person who clicks fast then causes one small
 * write in ten seconds, and a session never lasts longer than promised. It may end that much earlier if another server
 * took the last request, or this one was restarted.
 */
const GRAIN = 0.01;
const LONGEST_GRAIN_MS = 10_000;
const REMEMBERED = 1_000;

/**
 * The sessions of the console. Each request reads its session and the end of its key from the database, so that a
 * sign-out and a revoked key count at every server with the next request.
 */
export class ConsoleSessions {
  readonly #parts: SessionParts;
  readonly #seen = new BoundedCache<number>(REMEMBERED);

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** @throws Fault KEY_INVALID for a key that ended meanwhile */
  async open(key: ApiKey, address: string): Promise<ConsoleUser> {
    const token = newToken();
    const { limits, sequencer } = this.#parts;
    const asked = { sha256: hashOf(token), keyHash: key.hash, address, absoluteMs: limits.absoluteMs };
    const { result } = await withDatabaseFaults(
      sequencer.submit<Command<"openConsole">>({
        command: { type: "openConsole", ...asked },
        actor: actorOf(key.name),
      }),
    );
    invariant(result, "a command without an idempotency key is decided");
    const { createdAt, endsAt } = result;
    return { token, key, createdAt, endsAt, idleEndsAt: Math.min(createdAt + limits.idleMs, endsAt) };
  }

  /**
   * The operator of a token. A session whose time is over ends here, on record.
   * @param isUse whether a person sent the request, so that the idle time begins anew
   * @throws Fault SESSION_REQUIRED
   */
  async require(token: string | undefined, { isUse }: { isUse: boolean }): Promise<ConsoleUser> {
    const row = token === undefined ? undefined : await this.#read(token);
    if (token === undefined || !row) throw sessionRequired();
    const { idleMs } = this.#parts.limits;
    const seenAt = Math.max(row.seenAt, this.#seen.get(row.sha256) ?? 0);
    const idleEndsAt = Math.min(seenAt + idleMs, row.endsAt);
    if (row.now >= idleEndsAt) return this.#over(row, idleEndsAt < row.endsAt ? "idle" : "absolute");
    const key = await this.#keyOf(row);
    if (!key) return this.#over(row, "key");
    const { createdAt, endsAt } = row;
    if (!isUse) return { token, key, createdAt, idleEndsAt, endsAt };
    this.#use(row);
    return { token, key, createdAt, idleEndsAt: Math.min(row.now + idleMs, endsAt), endsAt };
  }

  /** Ends the session of a token, if it has one. */
  async end(token: string, cause: ConsoleEnd): Promise<void> {
    const row = await this.#read(token);
    if (!row) return;
    await this.#end(row, cause);
    this.#parts.onEnded();
  }

  #read(token: string): Promise<OpenConsoleSession | undefined> {
    const { pool, auditKeys } = this.#parts;
    return withDatabaseFaults(pool.read((sql) => readConsoleSession(sql, hashOf(token), auditKeys)));
  }

  async #keyOf({ keyHash, isKeyOver }: OpenConsoleSession): Promise<ApiKey | undefined> {
    const { keys } = this.#parts;
    // This process's copy of the keys may be a second old.
    if (isKeyOver) keys.forget();
    await keys.ready();
    const key = keys.byHash(keyHash);
    return key?.type === "admin" ? key : undefined;
  }

  #use({ sha256, seenAt, now }: OpenConsoleSession): void {
    const { pool, limits } = this.#parts;
    this.#seen.set(sha256, now);
    if (now - seenAt < Math.min(limits.idleMs * GRAIN, LONGEST_GRAIN_MS)) return;
    // Not awaited: without the write the session only ends earlier, and the next request repeats it.
    pool.note((sql) => recordConsoleUse(sql, sha256, now)).catch(() => {});
  }

  async #over(row: OpenConsoleSession, cause: ConsoleEnd): Promise<never> {
    // The session is over even where its end cannot be recorded; the next request tries again.
    await this.#end(row, cause).catch(() => {});
    throw sessionRequired();
  }

  async #end({ sha256, keyName }: OpenConsoleSession, cause: ConsoleEnd): Promise<void> {
    await withDatabaseFaults(
      this.#parts.sequencer.submit({ command: { type: "endConsole", sha256, cause }, actor: actorOf(keyName) }),
    );
  }
}

export const actorOf = (keyName: string): string => `admin:${keyName}`;

function sessionRequired(): Fault {
  return new Fault("SESSION_REQUIRED", "Sign in to the console");
}

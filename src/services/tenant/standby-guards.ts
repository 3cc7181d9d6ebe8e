import { Fault } from "../../domain/fault.ts";
import type { Journal } from "../../ledger/journal.ts";
import { Unconfirmed } from "../../postgres/connect.ts";
import { OutcomeUnknown, type Pool } from "../../postgres/pool.ts";

/**
 * A pool that sends no write while the database has fewer standbys than required, and acknowledges no write during
 * which a required standby left. Reads continue.
 * @param refusal why changes are currently refused
 */
export function poolWithStandbys(pool: Pool, refusal: () => Fault | undefined): Pool {
  return {
    ...pool,
    write: async (statement) => {
      const fault = refusal();
      if (fault) throw fault;
      const answer = await pool.write(statement);
      const later = refusal();
      if (later) throw new OutcomeUnknown(later);
      return answer;
    },
  };
}

/**
 * A pool for work that retries by itself. It sends no write while commits wait for a standby that is away. No
 * PostgreSQL timeout ends such a wait, and the session outlives its client: work that retries every few seconds for an
 * hour would take all of the database's connections.
 * @param waitsInVain the current state, as far as known
 */
export function withoutVainWrites(pool: Pool, waitsInVain: () => Promise<boolean>): Pool {
  return {
    ...pool,
    write: async (statement) => {
      if (await waitsInVain())
        throw new Fault("DATABASE_UNAVAILABLE", "Commits wait for a standby that is away; nothing was executed");
      return pool.write(statement);
    },
  };
}

/**
 * A journal that sends no change while the database has fewer standbys than required, and confirms no change during
 * which a required standby left: a database that stops waiting for its standbys answers as if nothing had happened.
 * @param refusal why changes are currently refused
 */
export function journalWithStandbys(journal: Journal, refusal: () => Fault | undefined): Journal {
  const confirmed = async <T>(write: Promise<T>): Promise<T> => {
    const answer = await write;
    const fault = refusal();
    if (fault) throw new Unconfirmed(fault.message, { cause: fault });
    return answer;
  };
  return {
    ...journal,
    commit: async (batch) => {
      const fault = refusal();
      if (fault) throw fault;
      return confirmed(journal.commit(batch));
    },
    confirmHead: () => confirmed(journal.confirmHead()),
    fence: () => confirmed(journal.fence()),
    exclusively: (work) => confirmed(journal.exclusively(work)),
  };
}

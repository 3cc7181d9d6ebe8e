import { Fault } from "../../domain/fault.ts";
import type { Journal } from "../../ledger/journal.ts";
import { Unconfirmed } from "../../postgres/connect.ts";
import { OutcomeUnknown, type Pool } from "../../postgres/pool.ts";

/**
 * A pool that sends no write while the database has fewer standbys than required, and acknowledges none that was under way
 * when they went. Reads go on.
 * @param refusal why changes are refused at present
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
 * A pool for work that tries again by itself, which sends no write while commits wait for a standby that is away. PostgreSQL
 * ends such a wait by no timeout, and the session outlives the client that left it: work that tries every few seconds for an
 * hour would take all of the database's connections.
 * @param waitsInVain as far as is known at present
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
 * A journal that sends no change while the database has fewer standbys than required, and confirms none that was under way
 * when they went: a database that stops waiting for them answers as if nothing had happened.
 * @param refusal why changes are refused at present
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

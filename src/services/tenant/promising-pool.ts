import { Fault } from "../../domain/fault.ts";
import { OutcomeUnknown, type Pool } from "../../postgres/pool.ts";

/**
 * A pool that sends no write while the database has fewer standbys than required, and acknowledges none that was under way
 * when they went. Reads go on.
 * @param refusal why changes are refused at present
 */
export function promisingPool(pool: Pool, refusal: () => Fault | undefined): Pool {
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
export function patientPool(pool: Pool, waitsInVain: () => Promise<boolean>): Pool {
  return {
    ...pool,
    write: async (statement) => {
      if (await waitsInVain())
        throw new Fault("DATABASE_UNAVAILABLE", "Commits wait for a standby that is away; nothing was executed");
      return pool.write(statement);
    },
  };
}

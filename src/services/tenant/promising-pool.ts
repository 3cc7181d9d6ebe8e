import type { Fault } from "../../domain/fault.ts";
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

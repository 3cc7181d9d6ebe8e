import type { Pool } from "./pool.ts";
import { Semaphore } from "./semaphore.ts";

/**
 * A pool for reads that add up a whole tenant: one at a time, so that others find a connection. PostgreSQL reads for one
 * of them with several processes anyway.
 */
export function longReads(pool: Pool): Pool {
  const turn = new Semaphore(1);
  return { ...pool, snapshot: (query) => turn.hold(() => pool.snapshot(query)) };
}

import type { Sql } from "../../src/postgres/connect.ts";
import type { Pool } from "../../src/postgres/pool.ts";

/** A test's own client as a pool: nothing is replaced, and nothing is asked again. */
export function poolOf(sql: Sql): Pool {
  return {
    read: async (ask) => ask(sql),
    write: async (tell) => tell(sql),
    note: async (tell) => tell(sql),
    snapshot: async (ask) =>
      (await sql.begin("isolation level repeatable read read only", async (own) => ({ answer: await ask(own) })))
        .answer,
    end: (options) => sql.end(options),
  };
}

import type postgres from "postgres";
import { withinDeadline } from "./client.ts";
import { ConnectionLost, classify, type Sql } from "./connect.ts";

/** What reads in flight on other connections of a pool may still take when one of its connections was lost. */
const DRAIN_SEC = 10;

type Template = (
  strings: TemplateStringsArray,
  ...values: postgres.ParameterOrFragment<never>[]
) => postgres.PendingQuery<postgres.Row[]>;

/**
 * A pool for reads that outlives its connections. The driver (postgres 3.4.9) never answers a query that is sent between
 * a connection's error and its close, and rejects the first query of the next one with the old one's error. So a client
 * that lost a connection is replaced as a whole, and the read, which changes nothing, is asked once more of the new one.
 * Used as the driver's client is; what is not awaited (a fragment in another query) is left alone.
 * @param open makes a fresh client
 * @param deadlineMs after which an unanswered read counts as lost; later than the server's own timeout
 */
export function readPool(open: () => Sql, deadlineMs: number): Sql {
  let current = open();

  function replace(lost: Sql): void {
    if (current !== lost) return;
    current = open();
    void lost.end({ timeout: DRAIN_SEC }).catch(() => undefined);
  }

  async function ask(query: (sql: Sql) => PromiseLike<unknown>, again: boolean): Promise<unknown> {
    const sql = current;
    try {
      return await withinDeadline(query(sql), deadlineMs);
    } catch (error) {
      if (!(classify(error) instanceof ConnectionLost)) throw error;
      replace(sql);
      // After the deadline nobody is there to wait any longer.
      if (!again || error instanceof ConnectionLost) throw error;
      return ask(query, false);
    }
  }

  /** The query as the driver makes it; awaited, it runs as `ask` has it. */
  function guarded<Query extends PromiseLike<unknown>>(make: (sql: Sql) => Query): Query {
    let answer: Promise<unknown> | undefined;
    const run = () => {
      answer ??= ask(make, true);
      return answer;
    };
    return Object.assign(make(current), {
      // biome-ignore lint/suspicious/noThenProperty: it is a promise already, and this is how it is awaited
      then: ((...hear: Parameters<Promise<unknown>["then"]>) => run().then(...hear)) as Query["then"],
      catch: (refuse: () => unknown) => run().catch(refuse),
      finally: (end: () => void) => run().finally(end),
    });
  }

  return new Proxy(current, {
    apply: (_, __, [first, ...rest]: Parameters<Template>) =>
      Array.isArray(first) && Object.hasOwn(first, "raw")
        ? guarded((sql) => (sql as unknown as Template)(first, ...rest))
        : (current as unknown as (...helper: unknown[]) => unknown)(first, ...rest),
    get: (_, name: keyof Sql) =>
      name === "unsafe"
        ? (...query: Parameters<Sql["unsafe"]>) => guarded((sql) => sql.unsafe(...query))
        : current[name],
  });
}

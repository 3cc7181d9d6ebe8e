/**
 * Reads by key that form batches by themselves, as writes do: while a query is in flight, the keys asked for meanwhile
 * wait for the next one. A crowd that looks at one market costs one row per round trip, and since a query starts only
 * after the question was asked, no answer is older than its question.
 */
export function batchReads<Row>(
  load: (keys: readonly string[]) => Promise<Map<string, Row>>,
): (key: string) => Promise<Row | undefined> {
  let waiting: { keys: Set<string>; rows: Promise<Map<string, Row>> } | undefined;
  let running: Promise<unknown> = Promise.resolve();

  return async (key) => {
    if (!waiting) {
      const keys = new Set<string>();
      const rows = running.then(() => {
        waiting = undefined;
        return load([...keys]);
      });
      // The next batch waits for this one to end, however it ends.
      running = rows.catch(() => undefined);
      waiting = { keys, rows };
    }
    waiting.keys.add(key);
    return (await waiting.rows).get(key);
  };
}

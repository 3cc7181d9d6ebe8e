/**
 * Reads by key that form batches by themselves, as writes do: while a query is in flight, new keys wait for the next
 * query. A crowd that reads one market costs one row per round trip. A query starts only after its questions were
 * asked, so no answer is older than its question.
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
      // The next batch waits for this one to end, with or without an error.
      running = rows.catch(() => undefined);
      waiting = { keys, rows };
    }
    waiting.keys.add(key);
    return (await waiting.rows).get(key);
  };
}

/**
 * Equal reads share a query: while a query is in flight, repeats of its question wait for the next query and share it.
 * As with batches, no answer is older than its question.
 * @param gather how long a question waits for others before its query is sent
 */
export function shareReads<Question, Answer>(
  keyOf: (question: Question) => string,
  load: (question: Question) => Promise<Answer>,
  gather: () => Promise<void> = () => Promise.resolve(),
): (question: Question) => Promise<Answer> {
  const inFlight = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, Promise<Answer>>();

  async function start(key: string, question: Question, before: Promise<unknown> | undefined): Promise<Answer> {
    await before;
    await gather();
    waiting.delete(key);
    const answer = load(question);
    const ended = answer.then(
      () => undefined,
      () => undefined,
    );
    inFlight.set(key, ended);
    await ended;
    if (inFlight.get(key) === ended) inFlight.delete(key);
    return answer;
  }

  return (question) => {
    const key = keyOf(question);
    const shared = waiting.get(key);
    if (shared) return shared;
    const answer = start(key, question, inFlight.get(key));
    waiting.set(key, answer);
    return answer;
  };
}

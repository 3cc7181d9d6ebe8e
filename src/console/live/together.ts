interface Shared {
  answer: Promise<unknown>;
  /** Ends the request. */
  end: AbortController;
  readers: number;
}

const begun = new Map<string, Shared>();

/**
 * Equal reads that begin at the same moment share one request, which ends when all of them have left. A later read asks
 * anew: it must show what changed since.
 * @param left given when this reader no longer wants the answer
 */
export async function together<Answer>(
  key: string,
  ask: (signal: AbortSignal) => Promise<Answer>,
  left?: AbortSignal,
): Promise<Answer> {
  left?.throwIfAborted();
  const shared = begun.get(key) ?? begin(key, ask);
  shared.readers++;
  left?.addEventListener("abort", () => {
    shared.readers--;
    if (shared.readers > 0) return;
    begun.delete(key);
    shared.end.abort();
  });
  return shared.answer as Promise<Answer>;
}

function begin(key: string, ask: (signal: AbortSignal) => Promise<unknown>): Shared {
  const end = new AbortController();
  const shared = { answer: ask(end.signal), end, readers: 0 };
  begun.set(key, shared);
  setTimeout(() => begun.delete(key));
  return shared;
}

/**
 * A browser has six connections to a server for all its windows, and a stream keeps one. So many windows have a stream;
 * the other connections are for the requests of all.
 */
const PLACES = ["pmctl console stream 1", "pmctl console stream 2", "pmctl console stream 3"];

/**
 * Waits for a window's place among those with a stream. The browser itself frees the place of a window that is gone.
 * @param taken called once there is one
 * @returns gives the place back, or waits no longer
 */
export function takePlace(taken: () => void): () => void {
  const waiting = new AbortController();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  for (const name of PLACES)
    navigator.locks
      .request(name, { signal: waiting.signal }, () => {
        // Two can be free at once.
        if (waiting.signal.aborted) return undefined;
        waiting.abort();
        taken();
        return left;
      })
      .catch(() => {});
  return () => {
    waiting.abort();
    leave();
  };
}

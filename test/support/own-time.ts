const BEAT_MS = 10;

/**
 * Measures time as this process gets it, in ms: the beats of a timer that it was able to run. A busy machine starves the timer
 * as it starves what is tested, so a promise like "within two seconds" can be compared with it at any load.
 */
export function ownTime(): () => number {
  let beats = 0;
  setInterval(() => {
    beats += 1;
  }, BEAT_MS).unref();
  return () => beats * BEAT_MS;
}

/** Measures the processor's time of this process, in ms, which does not count what other programs of a busy machine take. */
export function workTime(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}

import { access } from "node:fs";

const PERIOD_MS = 1000;

/**
 * Gives Node's thread pool something to do every second until the returned function is called. In glibc before 2.41 a
 * condition variable can lose a signal (https://sourceware.org/bugzilla/show_bug.cgi?id=25847). When that is the signal
 * for a file's operation, and the command awaits this one alone, nothing signals the pool again and the command hangs,
 * with all the locks that it holds. The next signal wakes a thread, which finds the operation in the queue.
 */
export function keepThreadPoolAwake(): () => void {
  const timer = setInterval(() => access("/", () => undefined), PERIOD_MS).unref();
  return () => clearInterval(timer);
}

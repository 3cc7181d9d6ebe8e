import { access } from "node:fs";

const PERIOD_MS = 1000;

/**
 * Gives Node's thread pool some work every second until the returned function is called. In glibc before 2.41 a
 * condition variable can lose a signal (https://sourceware.org/bugzilla/show_bug.cgi?id=25847). If that signal
 * announced a file operation, and the command awaits only this operation, nothing signals the pool again: the command
 * hangs with all its locks. The next signal wakes a thread, which finds the operation in the queue.
 */
export function keepThreadPoolAwake(): () => void {
  const timer = setInterval(() => access("/", () => undefined), PERIOD_MS).unref();
  return () => clearInterval(timer);
}

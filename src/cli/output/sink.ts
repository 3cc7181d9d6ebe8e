/** What output needs of a stream; the process's own and a test's buffer have it. */
export interface Sink {
  write(text: string, done?: (error?: Error | null) => void): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
}

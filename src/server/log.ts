import { type DestinationStream, type Logger, pino } from "pino";

/** Headers that hold secrets. They are logged only beside a failure, and never their values. */
const SECRET_HEADERS = ["authorization", "x-api-key", "cookie", "x-signature", "stripe-signature"];

/** Logs JSON lines to stderr: stdout is for data. */
export function createLogger(level: string, destination: DestinationStream = stderr()): Logger {
  const paths = SECRET_HEADERS.map((name) => `headers["${name}"]`);
  return pino({ level, redact: { paths, censor: "[redacted]" } }, destination);
}

/** Written at once: the line before a crash is the one that matters, and there is none for an ordinary request. */
function stderr(): DestinationStream {
  return pino.destination({ dest: 2, sync: true });
}

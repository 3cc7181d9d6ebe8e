import { type Logger, pino } from "pino";

/** Headers that hold secrets. They are logged only beside a failure, and never their values. */
const SECRET_HEADERS = ["authorization", "x-api-key", "cookie", "x-signature", "stripe-signature"];

/** Logs JSON lines to stderr: stdout is for data. */
export function createLogger(level: string): Logger {
  const paths = SECRET_HEADERS.map((name) => `headers["${name}"]`);
  return pino({ level, redact: { paths, censor: "[redacted]" } }, pino.destination({ dest: 2, sync: true }));
}

import type { Logger } from "pino";

/** Headers that hold secrets. They are logged only beside a failure, and never their values. */
const SECRET_HEADERS = [
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "cookie",
  "x-signature",
  "stripe-signature",
  "x-payload-digest",
  "x-hmac-signature",
  "x-sha2-signature",
  "persona-signature",
];

/** A logger for lines about requests. It redacts by itself, so that no logger given to the server can forget to. */
export function requestLogger(log: Logger): Logger {
  const paths = SECRET_HEADERS.map((name) => `headers["${name}"]`);
  return log.child({}, { redact: { paths, censor: "[redacted]" } });
}

import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import pino, { type Logger, type LoggerOptions } from "pino";
import type { DatabaseOutage } from "./database-outage.ts";
import { lineForPeople } from "./log-line.ts";

/** Headers that contain secrets. Headers are logged only for a failure, and these without their values. */
const SECRET_HEADERS = [
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "cookie",
  "x-csrf-token",
  "x-signature",
  "stripe-signature",
  "x-payload-digest",
  "x-hmac-signature",
  "x-sha2-signature",
  "persona-signature",
];

/** How many bytes are kept while the log cannot be written; lines beyond that are lost. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024;

interface LogOptions {
  /** Takes over the lines about failures while the database is away. */
  outage?: DatabaseOutage;
  /** Whether lines for people name the tenant; those of JSON always do. */
  namesTenant?: boolean;
  /** Called with each line as JSON. */
  onLine?: (json: string) => void;
}

/**
 * A tenant's log: lines for people on a terminal, JSON lines elsewhere. If writing fails, as on a full disk or into a pipe without
 * a reader, the lines wait. Without a descriptor, only `onLine` gets them. pino's own destination would end or block the process.
 */
export function openLog(
  tenant: string,
  fd: number | undefined,
  { outage, namesTenant, onLine }: LogOptions = {},
): Logger {
  const isForPeople = fd !== undefined && isatty(fd);
  let unwritten = Buffer.alloc(0);
  const write = (line: string): void => {
    onLine?.(line);
    if (fd === undefined) return;
    if (unwritten.length < MAX_UNWRITTEN_BYTES)
      unwritten = Buffer.concat([unwritten, Buffer.from(isForPeople ? lineForPeople(line, namesTenant) : line)]);
    try {
      while (unwritten.length > 0) unwritten = unwritten.subarray(writeSync(fd, unwritten));
    } catch {
      // The failure cannot be reported anywhere.
    }
  };
  return pino({ name: "pmctl", base: { tenant }, ...(outage && { hooks: foldedInto(outage) }) }, { write });
}

/** A logger for lines about requests. It redacts by itself, so that redaction does not depend on the given logger. */
export function requestLogger(log: Logger): Logger {
  const paths = SECRET_HEADERS.map((name) => `headers["${name}"]`);
  return log.child({}, { redact: { paths, censor: "[redacted]" } });
}

function foldedInto(outage: DatabaseOutage): Required<LoggerOptions>["hooks"] {
  return {
    logMethod(args, method) {
      const write = () => method.apply(this, args);
      const [fields]: readonly unknown[] = args;
      const error = typeof fields === "object" && fields !== null && "err" in fields ? fields.err : undefined;
      if (error === undefined || !outage.takes(error, write)) write();
    },
  };
}

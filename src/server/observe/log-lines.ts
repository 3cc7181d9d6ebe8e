import { credentialFaultText, isCredentialFault } from "../../domain/access/credential-faults.ts";
import type { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { isoTime, wallClockMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { Exchange } from "../exchange.ts";
import type { LogLine } from "./log-files.ts";

/**
 * The log line of an answered request. It names the key and never contains its value. It states the route instead of the path,
 * which may contain anything. Every request writes a line, so it is built field by field, in half the time of `JSON.stringify`.
 * @returns JSON text of a `LogLine`
 */
export function accessLine(
  { requestId, req, route, key, userId }: Answered,
  status: number,
  seconds: number,
  fault: Fault | undefined,
): string {
  const level = status >= 500 ? "error" : status >= 400 ? "warn" : "info";
  const durationMs = Math.round(seconds * 1e6) / 1000;
  return `{"ts":"${timeOf(wallClockMs())}","level":"${level}","kind":"access","requestId":${quoted(requestId)},"method":${quoted(req.method)},"route":${quoted(route)},"status":${status},"durationMs":${durationMs},"key":${quoted(key?.name)},"userId":${quoted(userId)},"errorCode":${quoted(fault?.code)},"message":${quoted(fault && messageOf(fault))}}`;
}

/** The message, with the fault of a token or signature, which only the operator's log states and never the answer. */
function messageOf({ message, detail }: Fault): string {
  return isCredentialFault(detail.fault) ? `${credentialFaultText(detail.fault)} (${message})` : message;
}

/** The request's facts in a line. */
type Answered = Pick<Exchange, "requestId" | "route" | "userId"> & {
  req: Pick<Exchange["req"], "method">;
  key: { name: string } | undefined;
};

/** Text that JSON writes without escapes. */
const PLAIN = /^[\w ./:@-]*$/;

function quoted(text: string | undefined): string {
  if (text === undefined) return "null";
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

let second = Number.NaN;
let untilSecond = "";

/** Like `isoTime`, which it calls once a second. */
function timeOf(ms: number): string {
  const now = Math.floor(ms / SECOND_MS);
  if (now !== second) {
    second = now;
    untilSecond = isoTime(now * SECOND_MS).slice(0, -"000Z".length);
  }
  return `${untilSecond}${String(ms - now * SECOND_MS).padStart(3, "0")}Z`;
}

/**
 * The line of an event that is not a request, without headers and stacks.
 * @returns JSON text of a `LogLine`; undefined if the text is not a log line
 */
export function eventLine(json: string): string | undefined {
  const logged = parseJson(json);
  if (typeof logged !== "object" || logged === null) return undefined;
  const { level, time, msg, err, requestId, method, route, status }: { [field in Logged]?: unknown } = logged;
  const cause = typeof err === "object" && err !== null && "message" in err ? `: ${err.message}` : "";
  const name = Number(level) >= 50 ? "error" : Number(level) >= 40 ? "warn" : "info";
  const line: LogLine = {
    ts: isoTime(Number(time)),
    level: name,
    kind: name === "error" ? "error" : "event",
    requestId: textOrNull(requestId),
    method: textOrNull(method),
    route: textOrNull(route),
    status: typeof status === "number" ? status : null,
    durationMs: null,
    key: null,
    userId: null,
    errorCode: null,
    message: `${msg ?? ""}${cause}`,
  };
  return JSON.stringify(line);
}

type Logged = "level" | "time" | "msg" | "err" | "requestId" | "method" | "route" | "status";

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

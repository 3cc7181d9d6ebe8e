import { credentialFaultText, isCredentialFault } from "../../domain/access/credential-faults.ts";
import type { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { isoTime, wallClockMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { Exchange } from "../exchange.ts";
import type { LogLine } from "./log-files.ts";

/**
 * The line of an answered request. It names the key and never holds it; the route stands for the path, which may name anything.
 * Every request makes one, so it is written field by field, at half of what `JSON.stringify` takes.
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

/** The caller reads only that a valid token or signature is required; the operator's log says what is wrong with the one that came. */
function messageOf({ message, detail }: Fault): string {
  return isCredentialFault(detail.fault) ? `${credentialFaultText(detail.fault)} (${message})` : message;
}

/** What a line states about a request. */
type Answered = Pick<Exchange, "requestId" | "route" | "userId"> & {
  req: Pick<Exchange["req"], "method">;
  key: { name: string } | undefined;
};

/** What JSON writes as it stands. */
const PLAIN = /^[\w ./:@-]*$/;

function quoted(text: string | undefined): string {
  if (text === undefined) return "null";
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

let second = Number.NaN;
let untilSecond = "";

/** As `isoTime`, which is asked once a second. */
function timeOf(ms: number): string {
  const now = Math.floor(ms / SECOND_MS);
  if (now !== second) {
    second = now;
    untilSecond = isoTime(now * SECOND_MS).slice(0, -"000Z".length);
  }
  return `${untilSecond}${String(ms - now * SECOND_MS).padStart(3, "0")}Z`;
}

/**
 * The line of what the process logs beside requests. Headers and stacks stay out.
 * @returns JSON text of a `LogLine`; undefined for what is no line of the log
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

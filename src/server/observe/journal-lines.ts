import type { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/parse-json.ts";
import { isoTime, wallClockMs } from "../../domain/time/clock.ts";
import type { Exchange } from "../exchange.ts";
import type { JournalLine } from "./journal.ts";

/** The line of an answered request. It names the key and never holds it; the route stands for the path, which may name anything. */
export function accessLine(exchange: Exchange, status: number, seconds: number, fault: Fault | undefined): JournalLine {
  return {
    ts: isoTime(wallClockMs()),
    level: status >= 500 ? "error" : status >= 400 ? "warn" : "info",
    kind: "access",
    requestId: exchange.requestId,
    method: exchange.req.method ?? null,
    route: exchange.route,
    status,
    durationMs: Math.round(seconds * 1e6) / 1000,
    key: exchange.key?.name ?? null,
    userId: exchange.userId ?? null,
    errorCode: fault?.code ?? null,
    message: fault?.message ?? null,
  };
}

/** The line of what the process logs beside requests. Headers and stacks stay out. */
export function eventLine(json: string): JournalLine | undefined {
  const logged = parseJson(json);
  if (typeof logged !== "object" || logged === null) return undefined;
  const { level, time, msg, err, requestId, method, route, status }: { [field in Logged]?: unknown } = logged;
  const cause = typeof err === "object" && err !== null && "message" in err ? `: ${err.message}` : "";
  const name = Number(level) >= 50 ? "error" : Number(level) >= 40 ? "warn" : "info";
  return {
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
}

type Logged = "level" | "time" | "msg" | "err" | "requestId" | "method" | "route" | "status";

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

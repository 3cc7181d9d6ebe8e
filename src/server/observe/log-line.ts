import { styleText } from "node:util";
import { parseJson } from "../../domain/json/parse-json.ts";

const LEVELS = [
  { from: 50, name: "ERROR", colour: "red" },
  { from: 40, name: "WARN ", colour: "yellow" },
  { from: 0, name: "info ", colour: "dim" },
] as const;
/** Fields that are shown elsewhere in the line or mean nothing to people. */
const LEFT_OUT = ["level", "time", "name", "msg", "tenant", "err", "pid", "hostname"];

/**
 * A line of the log for people at a terminal: time, level, message, then what else is known of it; the message of an error
 * without its stack, which the JSON in a pipe has.
 * @param namesTenant where the process has several
 */
export function lineForPeople(json: string, namesTenant = false): string {
  const line = parseJson(json);
  if (typeof line !== "object" || line === null) return json;
  const { level, time, tenant, msg, err }: Partial<Record<"level" | "time" | "tenant" | "msg" | "err", unknown>> = line;
  const { name, colour } = LEVELS.find(({ from }) => Number(level) >= from) ?? LEVELS[2];
  const cause = typeof err === "object" && err !== null && "message" in err ? `: ${err.message}` : "";
  const rest = Object.entries(line)
    .filter(([field, value]) => !LEFT_OUT.includes(field) && value !== null)
    .map(([field, value]) => `${field}=${typeof value === "object" ? JSON.stringify(value) : value}`);
  const text = oneLine([...(namesTenant && tenant ? [`${tenant}:`] : []), `${msg ?? ""}${cause}`, ...rest].join(" "));
  const clock = new Date(Number(time)).toISOString().slice(11, 19);
  return `${styleText("dim", clock, TERMINAL)} ${styleText(colour, name, TERMINAL)} ${text}\n`;
}

/** No colours with `NO_COLOR` or without a terminal. */
const TERMINAL = { stream: process.stderr };

/** A market's question or a header can contain anything: it must not move the cursor. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}

import { createHash } from "node:crypto";
import type { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";
import { type Answer, type Header, refusal } from "../responses.ts";

/** A weak entity tag of a text: one text has several encodings, whose bytes differ (RFC 9110, 8.8.1). */
export function tagOf(text: string): string {
  return `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}

/**
 * The answer, or 304 where the client says that it has it (RFC 9110, 13.1.2). Its head stays whole but for what describes a
 * body, because a browser replaces the headers of what it has kept by these: with another policy the kept page would not work.
 * @param tag the answer's own
 */
export function unlessKnown<Sent extends Answer>(
  exchange: Exchange,
  answer: Sent,
  tag: string,
): Sent | (Answer & { status: 304; body: "" }) {
  if (!isKnown(exchange.header("if-none-match"), tag)) return answer;
  const { byteLength: _, ...rest }: Answer = answer;
  const headers = (answer.headers ?? []).filter(([name]) => name !== "content-encoding");
  return { ...rest, status: 304, body: "", headers };
}

/** Compares as weak tags are compared: without their mark. */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = (text: string): string => text.trim().replace(/^W\//, "");
  return ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((each) => opaque(each) === opaque(tag));
}

/** The answer with more headers. */
export function answersWith(answer: Answer, more: readonly Header[]): Answer {
  return { ...answer, headers: [...(answer.headers ?? []), ...more] };
}

/** Any page may read and load it, one that is isolated from other origins too. */
export const FOR_ALL: readonly Header[] = [
  ["access-control-allow-origin", "*"],
  ["cross-origin-resource-policy", "cross-origin"],
];

/** A refusal that any page may read. */
export const refusalForAll = (fault: Fault): Answer => answersWith(refusal(fault), FOR_ALL);

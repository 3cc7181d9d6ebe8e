import { createHash } from "node:crypto";
import type { Fault } from "../domain/fault.ts";
import type { Exchange } from "./exchange.ts";
import { type Answer, type Header, refusal } from "./responses.ts";

/** A weak entity tag of a text: the bytes differ between encodings of the same text (RFC 9110, 8.8.1). */
export function tagOf(text: string): string {
  return `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}

/**
 * The answer, or 304 if the client already has it (RFC 9110, 13.1.2). A 304 keeps all headers except those that
 * describe a body, because a browser replaces its stored headers with them: another policy would break the stored page.
 * @param tag the answer's entity tag
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

/** Compares weak tags: without their `W/` prefix. */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = (text: string): string => text.trim().replace(/^W\//, "");
  return ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((each) => opaque(each) === opaque(tag));
}

/** The answer with additional headers. */
export function answersWith(answer: Answer, more: readonly Header[]): Answer {
  return { ...answer, headers: [...(answer.headers ?? []), ...more] };
}

/** Headers with which any page may read and load an answer, even a cross-origin isolated page. */
export const FOR_ALL: readonly Header[] = [
  ["access-control-allow-origin", "*"],
  ["cross-origin-resource-policy", "cross-origin"],
];

/** An error that any page may read. */
export const refusalForAll = (fault: Fault): Answer => answersWith(refusal(fault), FOR_ALL);

import { createHash } from "node:crypto";
import type { Exchange } from "../exchange.ts";
import type { Answer } from "../responses.ts";

type Body = Answer & { body: string | Uint8Array<ArrayBuffer> };

/** A weak entity tag of a text, because the same text is sent in several encodings (RFC 9110, 8.8.1). */
export function tagOf(body: string | Uint8Array<ArrayBuffer>): string {
  return `W/"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
}

/**
 * The answer with an entity tag, or 304 for a client that has what it says already (RFC 9110, 13.1.2). The head of a 304 is
 * that of the answer: a browser puts it in place of the one that it has kept, and under another policy the page would not run.
 * @param tag of the body unless given
 */
export function revalidated<Sent extends Body>(
  exchange: Exchange,
  answer: Sent,
  tag = tagOf(answer.body),
): Sent | (Answer & { status: 304; body: "" }) {
  const headers = [...(answer.headers ?? []), ["etag", tag] as const];
  if (!isAmong(tag, exchange.header("if-none-match"))) return { ...answer, headers };
  const { byteLength: _, ...head }: Answer = answer;
  return { ...head, status: 304, body: "", headers: headers.filter(([name]) => name !== "content-encoding") };
}

/** By the weak comparison of RFC 9110, 8.8.3.2. */
function isAmong(tag: string, listed: string | undefined): boolean {
  const tags = (listed ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(tag.slice(2));
}

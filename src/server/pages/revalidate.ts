import { createHash } from "node:crypto";
import type { Exchange } from "../exchange.ts";
import type { Answer, Header } from "../responses.ts";

type Text = Omit<Answer, "body"> & { body: string | Uint8Array<ArrayBuffer> };

/**
 * The answer with an entity tag of its body, or 304 for a client that has this body already. The tag is a weak one,
 * because the same text is sent in several encodings.
 */
export function revalidated<Sent extends Text>(exchange: Exchange, answer: Sent): Sent | (Answer & { status: 304 }) {
  const tag = `W/"${createHash("sha256").update(answer.body).digest("base64url").slice(0, 22)}"`;
  const headers: Header[] = [...(answer.headers ?? []), ["etag", tag]];
  if (isAmong(tag, exchange.header("if-none-match"))) return { ...answer, status: 304, body: "", headers };
  return { ...answer, headers };
}

/** By the weak comparison of RFC 9110, 8.8.3.2. */
function isAmong(tag: string, listed: string | undefined): boolean {
  const tags = (listed ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(tag.slice(2));
}

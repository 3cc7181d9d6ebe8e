import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Fault } from "../domain/fault.ts";
import { NumberText, parseLossless } from "../domain/json/exact-json.ts";
import { parseJson } from "../domain/json/parse-json.ts";

const MAX_DEPTH = 32;

/**
 * The bytes of a body, read from Node's stream: h3's own readers either copy through web streams or rewrite invalid UTF-8.
 * @throws Fault BAD_REQUEST if the body is larger than `limitBytes` (the rest stays unread) or ended early
 */
export function readBody(req: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (hasNoBody(req)) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= limitBytes) return;
      req.off("data", onData).off("close", onClose);
      req.pause();
      reject(new Fault("BAD_REQUEST", `The body must be at most ${limitBytes} bytes`));
    };
    const onEnd = (): void => {
      req.off("close", onClose);
      const [first] = chunks;
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks));
    };
    // A request that breaks off also closes; it emits an error only if something listens for errors.
    const onClose = (): void => {
      reject(new Fault("BAD_REQUEST", "The body ended early"));
    };
    // The client left while its request waited to be counted. The event has passed, and nothing would end the wait.
    if (req.destroyed) onClose();
    else req.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/** Whether part of a request's body has not arrived or has not been read. */
export function isBodyOutstanding(req: IncomingMessage): boolean {
  return !req.complete && !hasNoBody(req);
}

/** Whether a request states that it has no body (RFC 9112, section 6.3). */
export function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

/** @throws Fault BAD_REQUEST unless the request declares a JSON body: a form on a hostile page cannot declare it. */
export function requireJson(contentType: string | undefined): void {
  if (contentType === "application/json") return;
  const mediaType = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") throw new Fault("BAD_REQUEST", "Content-Type must be application/json");
}

/**
 * A JSON object that every JSON reader understands alike. Numbers that a double cannot hold are kept as texts.
 * @param read parses the text. A provider's body uses `JSON.parse`, since unused fields may hold 64-bit ids
 * @throws Fault BAD_REQUEST for other JSON, invalid UTF-8, a repeated key, numbers too large for a double, or deep
 * nesting
 */
export function parseJsonObject(body: Buffer, read = parseLossless): Record<string, unknown> {
  const text = isUtf8(body) ? body.toString() : "";
  const value = parseJson(text, read);
  if (value === undefined) throw new Fault("BAD_REQUEST", "The body is not valid JSON");
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Fault("BAD_REQUEST", "The body must be a JSON object");
  // Of two equal keys the last would win here, but perhaps the first at a proxy that inspected the request.
  if (checkValue(value, 1) !== membersIn(text)) throw new Fault("BAD_REQUEST", "The body contains a key twice");
  return value as Record<string, unknown>;
}

/**
 * Refuses what JSON.parse accepts: 1e400 (read as Infinity), nesting of any depth, and `__proto__`, which would change
 * the prototype of a later copy.
 * @returns the number of members of all objects
 */
function checkValue(value: unknown, depth: number): number {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Fault("BAD_REQUEST", "The body contains a number that is too large");
  if (typeof value !== "object" || value === null || value instanceof NumberText) return 0;
  if (depth > MAX_DEPTH) throw new Fault("BAD_REQUEST", `The body must be nested at most ${MAX_DEPTH} levels deep`);
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += checkValue(item, depth + 1);
    return members;
  }
  const object = value as Record<string, unknown>;
  for (const key in object) {
    if (key === "__proto__") throw new Fault("BAD_REQUEST", "The body contains the key __proto__");
    members += 1 + checkValue(object[key], depth + 1);
  }
  return members;
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];

/** The number of members of all objects in a valid JSON text, repeated keys included: the number of colons outside strings. */
function membersIn(text: string): number {
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) inString = !inString;
    else if (code === BACKSLASH) at += 1;
    else if (code === COLON && !inString) members += 1;
  }
  return members;
}

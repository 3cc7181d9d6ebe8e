import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Fault } from "../domain/fault.ts";

const MAX_DEPTH = 32;

/**
 * The bytes of a body, read from Node's stream: h3's own readers either copy through web streams or rewrite invalid UTF-8.
 * @throws Fault BAD_REQUEST when it is larger than `limitBytes`. Node then discards the rest of it, within its request
 * timeout, so that the client is still there to read the answer.
 */
export function readBody(req: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = (): void => {
      req.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= limitBytes) return;
      stop();
      req.resume();
      reject(new Fault("BAD_REQUEST", `The body must be at most ${limitBytes} bytes`));
    };
    const onEnd = (): void => {
      stop();
      const [first] = chunks;
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks));
    };
    const onClose = (): void => {
      stop();
      reject(new Fault("BAD_REQUEST", "The body ended early"));
    };
    req.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}

/** @throws Fault BAD_REQUEST unless the request says that its body is JSON: a form on a hostile page cannot say so. */
export function requireJson(contentType: string | undefined): void {
  if (contentType === "application/json") return;
  const mediaType = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") throw new Fault("BAD_REQUEST", "Content-Type must be application/json");
}

/**
 * A JSON object whose values mean to every reader what they mean here.
 * @throws Fault BAD_REQUEST for anything else: other JSON, invalid UTF-8, numbers too large for a double, deep nesting.
 */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  const value = isUtf8(body) ? parse(body.toString()) : undefined;
  if (value === undefined) throw new Fault("BAD_REQUEST", "The body is not valid JSON");
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Fault("BAD_REQUEST", "The body must be a JSON object");
  checkValue(value, 1);
  return value as Record<string, unknown>;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON.parse reads 1e400 as Infinity, nests as deep as the text, and makes `__proto__` a property that a later copy would obey. */
function checkValue(value: unknown, depth: number): void {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Fault("BAD_REQUEST", "The body holds a number that is too large");
  if (typeof value !== "object" || value === null) return;
  if (depth > MAX_DEPTH) throw new Fault("BAD_REQUEST", `The body must be nested at most ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    for (const item of value) checkValue(item, depth + 1);
    return;
  }
  const object = value as Record<string, unknown>;
  for (const key in object) {
    if (key === "__proto__") delete object[key];
    else checkValue(object[key], depth + 1);
  }
}

import { execFileSync } from "node:child_process";
import { runOwnClient } from "./own-client.ts";
import { runWrk } from "./wrk.ts";

export interface Load {
  /** Keep-alive connections, each with one request in flight. */
  connections: number;
  seconds: number;
  /** Whole requests, sent in turn. */
  requests: readonly Buffer[];
}

export interface LoadResult {
  requests: number;
  perSecond: number;
  /** Answers of a status other than 2xx, and requests without an answer. */
  failed: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

const hasWrk = findWrk();

/** What makes the load, for the output. */
export const LOAD_GENERATOR = hasWrk ? "wrk" : "own client (no wrk here)";

/** Asks a server of this machine as fast as it answers. */
export const runLoad: (port: number, load: Load) => Promise<LoadResult> = hasWrk ? runWrk : runOwnClient;

function findWrk(): boolean {
  try {
    execFileSync("/bin/sh", ["-c", "command -v wrk"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The bytes of a request with a JSON body, or of one without. */
export function requestBytes(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Record<string, unknown>,
): Buffer {
  const text = body === undefined ? "" : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`];
  for (const [name, value] of Object.entries({ host: "localhost", ...headers })) lines.push(`${name}: ${value}`);
  if (body) lines.push("content-type: application/json", `content-length: ${Buffer.byteLength(text)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}`);
}

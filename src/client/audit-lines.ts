import { setTimeout as delay } from "node:timers/promises";
import { AUDIT_LINES } from "../contract/constants.ts";
import { wireFacts } from "../contract/wire-facts.ts";
import { isLoopback } from "../domain/access/networks.ts";
import { Fault } from "../domain/fault.ts";
import { parseJson } from "../domain/json/parse-json.ts";
import type { Fetched } from "./fetch.ts";
import { connectionFailure, faultFrom, retryAfterSec } from "./http-answer.ts";
import type { HttpApiOptions } from "./http-api.ts";
import { waitText } from "./pace.ts";

const MAX_WAITS = 3;
const NEWLINE = 0x0a;

/**
 * Reads the audit log of a running server after `after`, as texts of whole lines.
 * @throws Fault the server's error; UNREACHABLE when the answer is not a log, or ends before its last line
 */
export async function auditLinesOf(
  options: Pick<HttpApiOptions, "url" | "apiKey" | "fetch" | "onWait" | "insteadOfWaiting">,
  after: bigint,
): Promise<AsyncIterable<string>> {
  const { url, apiKey, fetch: request, onWait } = options;
  const target = `${url.replace(/\/+$/, "")}${wireFacts.listAudit.path}?after=${after}`;
  const headers = {
    "x-api-key": apiKey,
    accept: `${AUDIT_LINES}, application/json;q=0.5`,
    // On this machine compression costs more than it saves.
    "accept-encoding": isLoopback(new URL(url).hostname) ? "identity" : "gzip",
  };
  for (let waits = 0; ; waits++) {
    const response = await reached(url, request(target, { headers, redirect: "manual" }));
    if (response.ok && response.body) {
      if (response.headers.get("content-type")?.startsWith(AUDIT_LINES))
        return wholeLines(url, response, response.body);
      throw new Fault("UNREACHABLE", `${url} answered with something other than an audit log`);
    }
    const fault = faultFrom(response, parseJson(await reached(url, response.text())));
    if (response.status !== 429 || waits === MAX_WAITS) throw fault;
    const waitMs = retryAfterSec(response) * 1000;
    onWait?.(`${fault.message}: trying again in ${waitText(waitMs, options)}`);
    await delay(waitMs);
  }
}

async function* wholeLines(url: string, { headers }: Fetched, body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const expected = headers.get("audit-last-seq");
  let rest: Uint8Array[] = [];
  let text = "";
  try {
    for await (const value of body) {
      const end = value.lastIndexOf(NEWLINE) + 1;
      if (end > 0) {
        text = Buffer.concat([...rest, value.subarray(0, end)]).toString();
        yield text;
        rest = [];
      }
      if (end < value.length) rest.push(value.subarray(end));
    }
  } catch (error) {
    throw unreachable(url, error);
  }
  const last = text === "" ? 0 : seqOf(text.slice(text.lastIndexOf("\n", text.length - 2) + 1));
  if (rest.length > 0 || String(last) !== expected)
    throw new Fault("UNREACHABLE", `${url} sent the audit log only up to entry ${last} of ${expected}`);
}

function seqOf(line: string): unknown {
  const entry = parseJson(line);
  return typeof entry === "object" && entry !== null && "seq" in entry ? entry.seq : undefined;
}

async function reached<T>(url: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw unreachable(url, error);
  }
}

function unreachable(url: string, cause: unknown): Fault {
  return new Fault("UNREACHABLE", `Cannot reach ${url}: ${connectionFailure(cause).reason}`, { cause });
}

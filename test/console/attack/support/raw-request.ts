import { type IncomingHttpHeaders, request } from "node:http";
import type { ConsoleClient } from "../../../server/support/console.ts";

/** An answer to a request whose target nothing has normalised. */
export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sends a target as it is, with everything that a signed-in page would send; null leaves a header out. */
export function sendRaw(
  client: ConsoleClient,
  method: string,
  target: string,
  { body, headers = {} }: { body?: string; headers?: Record<string, string | null> } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(client.origin);
  const usual: Record<string, string | null> = {
    host: `${hostname}:${port}`,
    origin: client.origin,
    "sec-fetch-site": "same-origin",
    cookie: client.cookie ?? null,
    "x-csrf-token": client.csrf ?? null,
    "idempotency-key": `${Math.random()}`,
    "content-type": "application/json",
    ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
  };
  const sent = Object.entries({ ...usual, ...headers }).filter((each): each is [string, string] => each[1] !== null);
  return new Promise((resolve, reject) => {
    const options = { host: hostname, port, method, path: target, headers: Object.fromEntries(sent) };
    request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    })
      .on("error", reject)
      .end(body);
  });
}

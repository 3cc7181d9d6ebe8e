import { connect as connectSocket, type Socket } from "node:net";
import { expect } from "vitest";
import type { FaultCode } from "../../../src/domain/fault.ts";

/** Checks a refusal as every client may rely on it: one key in the body, the code and the request's name in the headers. Resolves to its text. */
export async function expectRefusal(response: Response, status: number, code: FaultCode, message?: string) {
  const text = await response.text();
  expect({ status: response.status, code: response.headers.get("error-code"), text }).toMatchObject({ status, code });
  const body = JSON.parse(text) as { error: string };
  expect(Object.keys(body)).toEqual(["error"]);
  expect(typeof body.error).toBe("string");
  if (message !== undefined) expect(body.error).toBe(message);
  expectCommonHeaders(response.headers);
  return body.error;
}

/** @param cacheControl that of public reads is `no-cache` */
export function expectCommonHeaders(headers: Headers, cacheControl = "no-store") {
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("request-id")).toMatch(/^req_[\w-]+$/);
  expect(headers.get("cache-control")).toBe(cacheControl);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
}

/** Sends bytes as they are and returns all that comes back until the server ends the connection. */
export function exchangeRaw(port: number, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = connectSocket(port, "127.0.0.1");
  socket.on("connect", () => {
    for (const part of parts) socket.write(part);
  });
  return receiveAll(socket);
}

/** What arrives on a connection until it is ended, be it by a reset. */
export function receiveAll(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => resolve(received));
  });
}

/** The first response of a raw exchange. */
export function parseRaw(received: string): Response {
  const [head = "", ...rest] = received.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)] as [string, string]),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  return new Response(rest.join("\r\n\r\n"), { status, headers });
}

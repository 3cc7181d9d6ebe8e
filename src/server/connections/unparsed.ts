import { STATUS_CODES } from "node:http";
import type { FaultCode } from "../../domain/fault.ts";
import { nextRequestId } from "../exchange.ts";
import { errorBody, type Header, SECURITY_HEADERS } from "../responses.ts";

/** An error as a complete HTTP/1.1 response, for sockets on which Node created no request. */
export function refusalText(status: number, message: string, code: FaultCode = "BAD_REQUEST"): string {
  const body = errorBody(message);
  const headers: Header[] = [
    ...SECURITY_HEADERS,
    ["error-code", code],
    ["request-id", nextRequestId()],
    ["content-length", String(Buffer.byteLength(body))],
    ["connection", "close"],
  ];
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`;
}

export function timedOutText(): string {
  return refusalText(408, "The request took too long");
}

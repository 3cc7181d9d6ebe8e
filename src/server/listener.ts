import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { Fault, type FaultCode } from "../domain/fault.ts";
import { nextRequestId } from "./exchange.ts";
import { rawResponse } from "./responses.ts";

const MAX_HEADER_BYTES = 16 * 1024;
/** Whoever sends headers slower holds a connection for nothing. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CHECK_INTERVAL_MS = 2000;
/** Longer than the 60 s of the usual load balancers, so that they end idle connections and not we under their request. */
const KEEP_ALIVE_MS = 65_000;
const BACKLOG = 1024;

/** A Node server whose every answer is JSON, those that its parser gives before a request exists included. */
export function createListener(handle: RequestListener): Server {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The front door refuses a missing one, in JSON.
      requireHostHeader: false,
      // A second Authorization would silently be dropped otherwise, and a proxy may have believed that one.
      joinDuplicateHeaders: true,
    },
    guarded(handle),
  );
  server.on("clientError", refuseUnparsed);
  server.on("checkExpectation", (_req, res: ServerResponse) => {
    res.socket?.end(refusalText(417, "The Expect header is not supported"));
  });
  server.on("connect", (_req, socket: Duplex) => {
    socket.on("error", () => {}).end(refusalText(404, "Not found", "NOT_FOUND"));
  });
  return server;
}

/** Starts to listen. Port 0 takes a free one. @throws Fault USAGE when the address cannot be had */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const reason = cause.code === "EADDRINUSE" ? "it is in use" : (cause.code ?? cause.message);
      reject(new Fault("USAGE", `Cannot listen on ${host} port ${port}: ${reason}`, { cause }));
    };
    server.once("error", onError).listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** A handler that throws before its first await must cost one connection and not the process. */
function guarded(handle: RequestListener): RequestListener {
  return (req: IncomingMessage, res: ServerResponse) => {
    try {
      handle(req, res);
    } catch {
      res.socket?.end(refusalText(400, "The request is not valid"));
    }
  };
}

/** What Node's parser refuses: there is no request, so the answer is written by hand. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex & { _httpMessage?: ServerResponse | null }): void {
  const pending = socket._httpMessage;
  if (pending?.req.complete) {
    // Garbage after a whole request: its answer is due first, or the client would take our refusal for it.
    pending.once("finish", () => socket.destroy());
    return;
  }
  if (error.code !== "ECONNRESET" && socket.writable && !pending?.headersSent) socket.write(refusalOf(error));
  socket.destroy();
}

function refusalOf({ code }: NodeJS.ErrnoException): string {
  if (code === "HPE_HEADER_OVERFLOW") return refusalText(431, `Headers must be at most ${MAX_HEADER_BYTES} bytes`);
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return refusalText(408, "The request took too long");
  return refusalText(400, "The request is not valid HTTP");
}

function refusalText(status: number, message: string, code: FaultCode = "BAD_REQUEST"): string {
  return rawResponse(status, code, message, nextRequestId());
}

import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { parseJson } from "../../domain/json/parse-json.ts";
import { hasNoBody, isBodyOutstanding } from "../body.ts";
import type { Connections } from "../connections/connections.ts";
import { nextRequestId } from "../exchange.ts";
import { errorBody, SECURITY_HEADERS } from "../responses.ts";

/** The properties of a socket that tell who is connected where: those of the client's connection. */
const ENDS = ["remoteAddress", "remotePort", "localAddress", "localPort"] as const;
/** Stated anew on each connection (RFC 9110, section 7.6.1). */
const OF_ONE_CONNECTION = new Set(["connection", "keep-alive", "proxy-connection"]);
const LONGEST_PREAMBLE = 1024;

/**
 * Sends requests on to the sibling process that serves their tenant: those that come on a connection of another tenant's,
 * as on one that a load balancer keeps for all hosts. Each connection of a client has one of its own to each sibling, which
 * begins with a line on who the client is; so the sibling's limits count it like one that it was given itself.
 */
export class Forwarding {
  readonly #connections: Connections;
  readonly #agents = new WeakMap<Socket, Map<string, Agent>>();
  /** Requests that are not answered yet. */
  inFlight = 0;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** @param path of the sibling's socket */
  send(req: IncomingMessage, res: ServerResponse, path: string): void {
    const out = request({
      agent: this.#agentOf(req.socket, path),
      method: req.method,
      path: req.url,
      setHost: false,
      headers: headersOf(req),
    });
    this.inFlight += 1;
    res.once("close", () => {
      this.inFlight -= 1;
      out.destroy();
    });
    out.once("response", (answer) => {
      const head = headersOf(answer);
      const isLast = answer.headers.connection === "close" || isBodyOutstanding(req);
      if (isBodyOutstanding(req)) this.#connections.leaveUnread(req);
      if (isLast) head.push("connection", "close");
      res.writeHead(answer.statusCode ?? 500, answer.statusMessage, head);
      answer.pipe(res);
      answer.once("error", () => res.destroy());
    });
    out.once("error", () => {
      if (res.headersSent || res.destroyed) return void res.destroy();
      this.#refuse(req, res);
    });
    if (hasNoBody(req)) out.end();
    else req.pipe(out);
  }

  /** The sibling ended, perhaps in the middle of the request. */
  #refuse(req: IncomingMessage, res: ServerResponse): void {
    const isRead = req.method === "GET" || req.method === "HEAD";
    const code = isRead ? "UNREACHABLE" : "OUTCOME_UNKNOWN";
    const body = errorBody(
      isRead
        ? "The server starts again: ask once more"
        : "It is not known whether this was done: the server starts again",
    );
    if (isBodyOutstanding(req)) this.#connections.leaveUnread(req);
    const own = ["error-code", code, "request-id", nextRequestId(), "connection", "close"];
    res.writeHead(500, [...SECURITY_HEADERS.flat(), ...own, "content-length", String(Buffer.byteLength(body))]);
    res.end(req.method === "HEAD" ? undefined : body);
  }

  #agentOf(socket: Socket, path: string): Agent {
    const agents = this.#agents.get(socket) ?? new Map<string, Agent>();
    this.#agents.set(socket, agents);
    const known = agents.get(path);
    if (known) return known;
    const agent = new SiblingAgent(path, preambleOf(socket));
    agents.set(path, agent);
    socket.once("close", () => agent.destroy());
    return agent;
  }
}

/** One kept connection to a sibling. */
class SiblingAgent extends Agent {
  readonly #path: string;
  readonly #preamble: string;

  constructor(path: string, preamble: string) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#path = path;
    this.#preamble = preamble;
  }

  override createConnection(): Socket {
    const socket = connect(this.#path);
    socket.write(this.#preamble);
    return socket;
  }
}

/**
 * Takes connections that siblings forward.
 * @param onConnection gets a connection that tells the client's address as its own
 */
export function acceptForwarded(onConnection: (socket: Socket) => void): Server {
  return createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    let head: Buffer = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf("\n");
      if (end < 0) return void (head.length > LONGEST_PREAMBLE && socket.destroy());
      socket.pause().removeAllListeners();
      const stated = parseJson(head.toString("latin1", 0, end));
      if (!Array.isArray(stated)) return void socket.destroy();
      for (const [index, name] of ENDS.entries()) Object.defineProperty(socket, name, { value: stated[index] });
      if (head.length > end + 1) socket.unshift(head.subarray(end + 1));
      onConnection(socket);
      socket.resume();
    });
  });
}

function preambleOf(socket: Socket): string {
  return `${JSON.stringify(ENDS.map((name) => socket[name]))}\n`;
}

/** The headers as they came, those of the connection itself left out. */
function headersOf({ rawHeaders }: IncomingMessage): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!OF_ONE_CONNECTION.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

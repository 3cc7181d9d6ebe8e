import { randomFillSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { H3Event } from "h3";
import { invariant } from "../domain/fault.ts";
import { monotonicMs } from "../domain/time/clock.ts";
import type { ApiKey } from "../engine/rows.ts";
import type { Refusal } from "../services/security/refusal-log.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { Standing } from "./rate-limiter.ts";

/** Bytes of an id: the chance that two of a million million requests share an id is about one in a hundred million. */
const ID_BYTES = 12;
/** Random bytes are drawn for many ids at once: one call per id would cost more than the rest of the exchange. */
const POOL = Buffer.alloc(ID_BYTES * 512);
let used = POOL.length;

/** Random, so that an id reveals nothing about other clients' traffic. */
export function nextRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += ID_BYTES;
  return `req_${POOL.toString("base64url", used - ID_BYTES, used)}`;
}

/**
 * Connections of commands in the server's directory. Only the operator and root can enter the socket's folder, so
 * limits by address and rules about hosts do not apply to them. Their key decides what they may do.
 */
export const commandSockets = new WeakSet<Socket>();

export type Attempt = Pick<Refusal, "operation" | "actor" | "userId" | "marketId">;

/** One request on its way through the server. */
export class Exchange {
  readonly requestId = nextRequestId();
  readonly startedAt = monotonicMs();
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly #event: H3Event;
  /** The path of the route, with `:name` for each parameter. */
  readonly route: string;
  /** Whether the request came through the socket for the directory's commands. */
  readonly isCommand: boolean;
  /** The client's rate limit bucket. */
  readonly address: string;
  /** Set once the key is found. */
  key: ApiKey | undefined;
  /** The SHA-256 of a key that the body carries, for the security log. */
  presentedSha256: string | undefined;
  /** Set once the request is counted. */
  standing: Standing | undefined;
  /** Set once the user of the request is known. */
  userId: string | undefined;
  /** Set when an authenticated caller requests a change: the refusal log records it if the change is refused. */
  attempt: Attempt | undefined;

  constructor(event: H3Event, route: string, addresses: ClientAddresses) {
    const node = event.runtime?.node;
    invariant(node?.res, "the server runs on Node");
    this.req = node.req as IncomingMessage;
    this.res = node.res as ServerResponse;
    this.#event = event;
    this.route = route;
    const { socket } = this.req;
    this.isCommand = commandSockets.has(socket);
    this.address = this.isCommand ? "local" : addresses.bucketOf(socket.remoteAddress, this.header("x-forwarded-for"));
  }

  /** Whether the answer is sent without its body. */
  get isHead(): boolean {
    return this.req.method === "HEAD";
  }

  /** The path as sent, still percent-encoded. */
  get pathname(): string {
    return this.#event.url.pathname;
  }

  /** The query with its question mark; empty without a query. */
  get search(): string {
    return this.#event.url.search;
  }

  /** The values of `:name` segments, still percent-encoded. */
  get params(): Record<string, string> {
    return this.#event.context.params ?? {};
  }

  /** A header by its lower-case name. Repeated headers arrive joined by ", ", so that neither value is taken alone. */
  header(name: string): string | undefined {
    const value = this.req.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }
}

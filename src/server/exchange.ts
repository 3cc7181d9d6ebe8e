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

/** Bytes of an id: two of a million million requests share one about once in a hundred million cases. */
const ID_BYTES = 12;
/** Random bytes are fetched for many ids at once: a call for each would cost more than the rest of the exchange. */
const POOL = Buffer.alloc(ID_BYTES * 512);
let used = POOL.length;

/** Random, so that an id tells a client nothing of the traffic of others. */
export function nextRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += ID_BYTES;
  return `req_${POOL.toString("base64url", used - ID_BYTES, used)}`;
}

/**
 * Connections of commands of the server's directory. The kernel let them in, since only the operator and root can enter the
 * folder of the socket: limits by address and rules about hosts are for others. Their key decides what they may do.
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
  /** The path of its route, with `:name` for what the request names. */
  readonly route: string;
  /** Whether it came through the socket of the directory's commands. */
  readonly isCommand: boolean;
  /** The rate-limit bucket of the client. */
  readonly address: string;
  /** Set once its key was found. */
  key: Pick<ApiKey, "hash" | "name" | "type"> | undefined;
  /** Set once the request has been counted. */
  standing: Standing | undefined;
  /** Set once it is known on whose behalf the request is made. */
  userId: string | undefined;
  /** Set once an authenticated caller asks for a change: what the refusal log records if it is refused. */
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

  /** As sent, still percent-encoded. */
  get pathname(): string {
    return this.#event.url.pathname;
  }

  /** With its question mark; empty without a query. */
  get search(): string {
    return this.#event.url.search;
  }

  /** The values of `:name` segments, still percent-encoded. */
  get params(): Record<string, string> {
    return this.#event.context.params ?? {};
  }

  /** A header by its lower-case name. One that was sent twice arrives joined by ", ", so that neither value stands alone. */
  header(name: string): string | undefined {
    const value = this.req.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }
}

import { parseMarketFilter, streamOperation } from "../../contract/resources/stream.ts";
import { Fault } from "../../domain/fault.ts";
import { authenticate, type Identities, type Identity } from "../access/authenticate.ts";
import { hasUserToken } from "../access/session-cookie.ts";
import type { StreamSeats } from "../connections/stream-seats.ts";
import type { Exchange } from "../exchange.ts";
import { assembleInput, planInput } from "../input.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import { EventStream } from "./event-stream.ts";
import type { StreamClient, StreamHub } from "./stream-hub.ts";

const EVENT_ID = /^\d{1,18}$/;

const OPENED = {
  status: 200,
  headers: [["x-accel-buffering", "no"]],
  contentType: "text/event-stream",
} as const satisfies Partial<Answer>;

export interface StreamServices {
  hub: StreamHub;
  seats: StreamSeats;
  identities: Identities;
  /** Establishes who listens, at first and at each check, instead of keys and tokens in headers. */
  identify?: ((exchange: Exchange, isFirst: boolean) => Promise<Identity>) | undefined;
  /** Called for each stream that is refused for lack of room. */
  onFull(address: string): void;
}

/** `GET /v1/stream`. The key is in a header, so pages use `fetch`: an EventSource cannot send headers. */
export function streamRoute({ hub, seats, identities, identify, onFull }: StreamServices): Route {
  const plan = planInput(streamOperation);
  return {
    method: streamOperation.method,
    path: streamOperation.path,
    operation: "streamEvents",
    forBrowsers: true,
    async answer(exchange) {
      const { method } = streamOperation;
      const auth = hasUserToken(exchange) ? "user" : "public";
      const check = async (isFirst = false) =>
        identify ? identify(exchange, isFirst) : authenticate(exchange, { method, auth }, identities);
      const { user } = await check(true);
      const input = await assembleInput(exchange, plan);
      const caller = { address: exchange.address, userId: user?.id };
      try {
        seats.requireRoom(caller);
      } catch (error) {
        onFull(caller.address);
        throw error;
      }
      if (exchange.isHead) return { ...OPENED, body: "" };
      const client: StreamClient = {
        ...caller,
        stream: new EventStream(exchange.req.socket),
        markets: marketsOf(input.markets),
        isStillValid: () =>
          check().then(
            () => true,
            (error: unknown) => !(error instanceof Fault && error.status === 401),
          ),
      };
      // Not awaited: the first bytes are sent before the snapshot is read.
      hub.add(client, lastIdOf(exchange)).catch(() => client.stream.end("shutdown"));
      return { ...OPENED, body: client.stream.body };
    },
  };
}

function marketsOf(list: unknown): ReadonlySet<string> | undefined {
  if (list === undefined) return undefined;
  const ids = typeof list === "string" ? parseMarketFilter(list) : undefined;
  if (!ids) throw new Fault("BAD_REQUEST", "markets: must be market ids separated by commas");
  return new Set(ids);
}

/** An unknown id counts as missing: the stream then begins with a snapshot. */
function lastIdOf(exchange: Exchange): bigint | undefined {
  const text = exchange.header("last-event-id") ?? "";
  return EVENT_ID.test(text) ? BigInt(text) : undefined;
}

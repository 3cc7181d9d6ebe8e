import type { WireResult } from "../contract/operations.ts";
import type { FrameData } from "../contract/resources/embed.ts";
import type { Side } from "../domain/market/market.ts";
import { ServerClock } from "./clock.ts";
import type { Pauses } from "./pauses.ts";
import { userOf } from "./token.ts";

/** A refusal: its code, the server's message, and how many seconds to wait before trying again. */
export class Refused extends Error {
  readonly code: string;
  readonly retryAfterSec: number;

  constructor(code: string, message: string, retryAfterSec = 0) {
    super(message);
    this.code = code;
    this.retryAfterSec = retryAfterSec;
  }
}

/** After these the same request may be answered soon; after any other refusal it is refused again. */
const PASSING: readonly string[] = [
  "UNREACHABLE",
  "RATE_LIMITED",
  "OVERLOADED",
  "DATABASE_UNAVAILABLE",
  "STANDBY_REQUIRED",
  "INTERNAL",
];

/**
 * Reads until it is answered: a server that cannot be reached, or that is asked too often, is asked again after a pause.
 * @param pauses ended from outside, to try at once
 * @param onPause told of each failure, and when the next attempt comes
 * @returns undefined once it is no longer wanted
 * @throws Refused where trying again is useless
 */
export async function readAtLast<Result>(
  read: () => Promise<Result>,
  pauses: Pauses,
  { isWanted, onPause }: { isWanted(): boolean; onPause(refused: Refused, retryInMs: number): void },
): Promise<Result | undefined> {
  while (isWanted()) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Refused) || !PASSING.includes(error.code)) throw error;
      if (!isWanted()) break;
      const { ms, isOver } = pauses.begin(error.retryAfterSec * 1000 || undefined);
      onPause(error, Math.round(ms));
      await isOver;
    }
  }
  return undefined;
}

type MarketItems = WireResult<"listMarkets">["items"];

const TIMEOUT_MS = 15_000;

export interface Purchase {
  marketId: string;
  side: Side;
  amount: number;
  /** The slippage guard: above this average price nothing happens. */
  maxAvgPrice: number;
}

/** The operations that a widget uses, on its own origin. Only this object holds the token. */
export class Api {
  readonly apiKey: FrameData["apiKey"];
  readonly clock: ServerClock;
  /** Told of each new token. */
  onToken = (): void => {};
  #token: string | null = null;

  constructor({ apiKey, now }: Pick<FrameData, "apiKey" | "now">) {
    this.apiKey = apiKey;
    this.clock = new ServerClock(now);
  }

  get token(): string | null {
    return this.#token;
  }

  set token(token: string | null) {
    this.#token = token;
    this.onToken();
  }

  get headers(): Record<string, string> {
    return {
      ...(this.apiKey === null ? {} : { "x-api-key": this.apiKey }),
      ...(this.#token === null ? {} : { authorization: `Bearer ${this.#token}` }),
    };
  }

  /** What a document of this view would be made with. */
  async view(view: FrameData["view"], query: URLSearchParams): Promise<FrameData> {
    return (await this.#send<FrameData>("GET", `/embed/data/${view}?${query}`)).body;
  }

  async portfolio(): Promise<WireResult<"getPortfolio">> {
    return (await this.#send<WireResult<"getPortfolio">>("GET", "/v1/portfolio")).body;
  }

  /** A page of open markets. */
  async listMarkets(query: { q?: string; category?: string; cursor?: string }): Promise<WireResult<"listMarkets">> {
    const { body, headers } = await this.#send<MarketItems>("GET", `/v1/markets?${new URLSearchParams(query)}`);
    return { items: body, nextCursor: headers.get("next-cursor") };
  }

  /** @param key the same for each attempt at the same purchase, so that none of them can happen twice */
  async trade({ marketId, side, ...rest }: Purchase, key: string): Promise<WireResult<"placeTrade">> {
    const order = { marketId, selection: { side }, ...rest };
    return (await this.#send<WireResult<"placeTrade">>("POST", "/v1/trade", order, key)).body;
  }

  async #send<Result>(
    method: string,
    path: string,
    body?: unknown,
    key?: string,
  ): Promise<{ body: Result; headers: Headers }> {
    const user = userOf(this.#token);
    const response = await fetch(path, {
      method,
      headers: {
        ...this.headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: "omit",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: unknown) => {
      throw new Refused("UNREACHABLE", cause instanceof Error ? cause.message : "unreachable");
    });
    const answer = (await response.json().catch(() => ({}))) as { error?: unknown };
    this.clock.correct(Date.parse(response.headers.get("date") ?? ""));
    // An answer to a user who has left meanwhile is not for the next one, nor for the page without one: it never comes.
    if (user !== null && user !== userOf(this.#token)) return new Promise(() => {});
    if (response.ok) return { body: answer as Result, headers: response.headers };
    throw new Refused(
      response.headers.get("error-code") ?? "INTERNAL",
      typeof answer.error === "string" ? answer.error : "Unexpected failure",
      Number(response.headers.get("retry-after")) || 0,
    );
  }
}

import type { WireResult } from "../contract/operations.ts";
import type { FrameData } from "../contract/resources/embed.ts";

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

type MarketItems = WireResult<"listMarkets">["items"];

const TIMEOUT_MS = 15_000;

/** The operations that a widget uses, on its own origin. Only this object holds the token. */
export class Api {
  readonly #apiKey: FrameData["apiKey"];
  token: string | null = null;

  constructor(apiKey: FrameData["apiKey"]) {
    this.#apiKey = apiKey;
  }

  get headers(): Record<string, string> {
    return {
      ...(this.#apiKey === null ? {} : { "x-api-key": this.#apiKey }),
      ...(this.token === null ? {} : { authorization: `Bearer ${this.token}` }),
    };
  }

  async portfolio(): Promise<WireResult<"getPortfolio">> {
    return (await this.#send<WireResult<"getPortfolio">>("GET", "/v1/portfolio")).body;
  }

  /** A page of open markets. */
  async listMarkets(query: { q?: string; category?: string; cursor?: string }): Promise<WireResult<"listMarkets">> {
    const { body, headers } = await this.#send<MarketItems>("GET", `/v1/markets?${new URLSearchParams(query)}`);
    return { items: body, nextCursor: headers.get("next-cursor") };
  }

  /** @param key the same for each attempt at the same write, so that none of them can happen twice */
  async post<Result>(path: string, input: object, key?: string): Promise<Result> {
    return (await this.#send<Result>("POST", path, input, key)).body;
  }

  async #send<Result>(
    method: string,
    path: string,
    body?: unknown,
    key?: string,
  ): Promise<{ body: Result; headers: Headers }> {
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
    if (response.ok) return { body: answer as Result, headers: response.headers };
    throw new Refused(
      response.headers.get("error-code") ?? "INTERNAL",
      typeof answer.error === "string" ? answer.error : "Unexpected failure",
      Number(response.headers.get("retry-after")) || 0,
    );
  }
}

import type { WireResult } from "../contract/operations.ts";
import type { FrameData, FrameList } from "../contract/resources/embed.ts";
import { ServerClock } from "./stream/clock.ts";
import type { Pauses } from "./stream/pauses.ts";

/** A refusal: its code, the server's message, how many seconds to wait before trying again, and when it ends by itself. */
export class Refused extends Error {
  readonly code: string;
  readonly retryAfterSec: number;
  readonly until: string | null;

  constructor(code: string, message: string, retryAfterSec = 0, until: string | null = null) {
    super(message);
    this.code = code;
    this.retryAfterSec = retryAfterSec;
    this.until = until;
  }
}

/** After these the same request may succeed soon; after any other refusal it fails again. */
const PASSING: readonly string[] = [
  "UNREACHABLE",
  "RATE_LIMITED",
  "OVERLOADED",
  "DATABASE_UNAVAILABLE",
  "TOKEN_KEYS_UNAVAILABLE",
  "STANDBY_REQUIRED",
  "INTERNAL",
];

export function isPassing({ code }: Pick<Refused, "code">): boolean {
  return PASSING.includes(code);
}

/**
 * Reads until the server answers: after a refusal that passes, it pauses and asks again.
 * @param pauses can be ended from outside, to try at once
 * @param onPause receives each failure, and when the next attempt comes
 * @returns undefined once the read is no longer wanted, so that a late answer never replaces a newer one
 * @throws Refused where another attempt is useless
 */
export async function readAtLast<Result>(
  read: () => Promise<Result>,
  pauses: Pauses,
  { isWanted, onPause }: { isWanted(): boolean; onPause(refused: Refused, retryInMs: number): void },
): Promise<Result | undefined> {
  while (isWanted()) {
    try {
      const result = await read();
      return isWanted() ? result : undefined;
    } catch (error) {
      if (!(error instanceof Refused) || !isPassing(error)) throw error;
      if (!isWanted()) break;
      const { ms, isOver } = pauses.begin(error.retryAfterSec * 1000 || undefined);
      onPause(error, Math.round(ms));
      await isOver;
    }
  }
  return undefined;
}

const TIMEOUT_MS = 15_000;

/** The operations that a widget uses, on its own origin. Only this object holds the token. */
export class Api {
  readonly apiKey: FrameData["apiKey"];
  readonly clock: ServerClock;
  /** Called after each change of the token. */
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

  /** The data of a document of this view. */
  async view(view: FrameData["view"], query: URLSearchParams): Promise<FrameData> {
    // A portfolio is read with its user's token; the rest of its document equals a list's.
    const path = view === "portfolio" ? "markets" : view;
    // The browser's own copy may be older than an event that asks for this.
    const data = await this.#send<FrameData>(`/embed/data/${path}?${query}`, { cache: "no-cache" });
    return { ...data, view };
  }

  /** A page of open markets. */
  listMarkets(query: { q?: string; category?: string; cursor?: string }): Promise<FrameList> {
    return this.#send(`/embed/data/list?${new URLSearchParams(query)}`, {});
  }

  portfolio(): Promise<WireResult<"getPortfolio">> {
    return this.#sendAsUser("/embed/data/portfolio");
  }

  /** What the user may do in a market, and everything that stands against it. */
  eligibility(marketId: string): Promise<WireResult<"getEligibility">> {
    return this.#sendAsUser(`/v1/eligibility?${new URLSearchParams({ marketId })}`);
  }

  /** @param key the same for each attempt at one write, so that the write executes once */
  post<Result>(path: string, input: object, key?: string): Promise<Result> {
    return this.#sendAsUser(path, input, key === undefined ? {} : { "idempotency-key": key });
  }

  /**
   * After a user has left, neither the answer to their request nor its refusal ever comes: it must not reach the next user, nor
   * a page without one.
   * @param body makes it a POST
   */
  async #sendAsUser<Result>(path: string, body?: object, more: Record<string, string> = {}): Promise<Result> {
    const token = this.#token;
    const headers = {
      ...(this.apiKey === null ? {} : { "x-api-key": this.apiKey }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...more,
    };
    const request = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await this.#send<Result>(path, request).then(
      (result) => () => result,
      (error: unknown) => () => {
        throw error;
      },
    );
    return userOf(token) === userOf(this.#token) ? answer() : new Promise(() => {});
  }

  /** @throws Refused */
  async #send<Result>(path: string, request: RequestInit): Promise<Result> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(path, { ...request, credentials: "omit", signal }).catch(unreachable);
    this.clock.correct(Date.parse(response.headers.get("date") ?? ""));
    if (response.ok) return response.json().catch(unreachable) as Promise<Result>;
    const { error } = (await response.json().catch(() => ({}))) as { error?: unknown };
    throw new Refused(
      response.headers.get("error-code") ?? "INTERNAL",
      typeof error === "string" ? error : "Unexpected failure",
      Number(response.headers.get("retry-after")) || 0,
    );
  }
}

function unreachable(cause: unknown): never {
  throw new Refused("UNREACHABLE", cause instanceof Error ? cause.message : "unreachable");
}

/** The claims of a JWT, used to renew it in time and to tell users apart: only the server decides whether it is valid. */
export function claimsOf(token: string): { sub?: unknown; exp?: unknown; iat?: unknown } {
  try {
    const payload = token.split(".")[1] ?? "";
    return JSON.parse(atob(payload.replace(/-/g, "+").replace(/_/g, "/"))) ?? {};
  } catch {
    return {};
  }
}

/** The user that a token names, or the token itself where it names none; null without a token. */
export function userOf(token: string | null): string | null {
  if (token === null) return null;
  const { sub } = claimsOf(token);
  return typeof sub === "string" ? sub : token;
}

/** Milliseconds since the epoch; infinite for a token that states no end. */
export function expiryOf(token: string): number {
  const { exp } = claimsOf(token);
  return typeof exp === "number" ? exp * 1000 : Number.POSITIVE_INFINITY;
}

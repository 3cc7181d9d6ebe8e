import type { Output } from "../../contract/operations.ts";

export type Refusal = Output<"getRefusal">;

/**
 * The last refusals of requests that wanted to change something, in this process's memory: `pmctl why` finds them by
 * the id that the caller was given. Writing them down durably would let a refused caller make the database work.
 */
export class RefusalLog {
  readonly #byRequest = new Map<string, Refusal>();
  readonly #limit: number;

  /** @param limit how many at the most; about a kilobyte each */
  constructor(limit = 10_000) {
    this.#limit = limit;
  }

  /** Forgets the oldest when there are too many. */
  remember(refusal: Refusal): void {
    this.#byRequest.set(refusal.requestId, refusal);
    if (this.#byRequest.size <= this.#limit) return;
    // A Map keeps the order of insertion.
    const [oldest = ""] = this.#byRequest.keys();
    this.#byRequest.delete(oldest);
  }

  find(requestId: string): Refusal | undefined {
    return this.#byRequest.get(requestId);
  }
}

/** What of a Fault's detail may be shown to an operator: plain values, and not many. */
export function shownDetail(detail: Readonly<Record<string, unknown>>): Refusal["detail"] {
  return Object.fromEntries(
    Object.entries(detail).filter((entry): entry is [string, string | number | boolean] =>
      ["string", "number", "boolean"].includes(typeof entry[1]),
    ),
  );
}

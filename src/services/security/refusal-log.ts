import type { Output } from "../../contract/operations.ts";

export type Refusal = Output<"getRefusal">;

/**
 * The last refused changes, in this process's memory: `pmctl why` finds them by the request id that the caller
 * received. Storing them in the database would let refused callers cause writes.
 */
export class RefusalLog {
  readonly #byRequest = new Map<string, Refusal>();
  readonly #limit: number;

  /** @param limit the largest number of refusals, of about a kilobyte each */
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

  /** Those whose request's id begins so, newest first. */
  beginningWith(text: string, limit: number): Refusal[] {
    const found = [...this.#byRequest.values()].filter(({ requestId }) => requestId.startsWith(text));
    return found.reverse().slice(0, limit);
  }
}

/** The plain values of a Fault's detail, which an operator may see. */
export function shownDetail(detail: Readonly<Record<string, unknown>>): Refusal["detail"] {
  return Object.fromEntries(
    Object.entries(detail).filter((entry): entry is [string, string | number | boolean] =>
      ["string", "number", "boolean"].includes(typeof entry[1]),
    ),
  );
}

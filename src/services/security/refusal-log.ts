import type { Output } from "../../contract/operations.ts";
import type { FaultCode } from "../../domain/fault.ts";

export type Refusal = Output<"getRefusal">;

/** The largest numbers of refusals, each of about a kilobyte. */
const LIMITS = { changes: 10_000, tokens: 1_000 };

/** Refusals of a user token: of a wrong one, and of any while the keys that check it cannot be read. */
export const TOKEN_REFUSALS: readonly string[] = ["USER_REQUIRED", "TOKEN_KEYS_UNAVAILABLE"] satisfies FaultCode[];

/**
 * The last refused changes and user tokens, in this process's memory. `pmctl why` finds them by the request id that the
 * caller received. Storing them in the database would let refused callers cause writes.
 */
export class RefusalLog {
  readonly #changes = new Map<string, Refusal>();
  readonly #tokens = new Map<string, Refusal>();
  readonly #limits: typeof LIMITS;

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /** Forgets the oldest beyond the limit. Every reader of a page has a public key: bad tokens displace only each other. */
  remember(refusal: Refusal): void {
    const isToken = TOKEN_REFUSALS.includes(refusal.code);
    const kept = isToken ? this.#tokens : this.#changes;
    kept.set(refusal.requestId, refusal);
    if (kept.size <= (isToken ? this.#limits.tokens : this.#limits.changes)) return;
    // A Map iterates in insertion order.
    const [oldest = ""] = kept.keys();
    kept.delete(oldest);
  }

  find(requestId: string): Refusal | undefined {
    return this.#changes.get(requestId) ?? this.#tokens.get(requestId);
  }

  /** Refusals whose request id begins with the text, newest first. */
  beginningWith(text: string, limit: number): Refusal[] {
    return this.newest(({ requestId }) => requestId.startsWith(text)).slice(0, limit);
  }

  /** The refusals that a test selects, newest first. */
  newest(isMeant: (refusal: Refusal) => boolean): Refusal[] {
    return [...this.#changes.values(), ...this.#tokens.values()]
      .filter(isMeant)
      .reverse()
      .sort((a, b) => b.ts - a.ts);
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

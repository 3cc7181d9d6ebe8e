import type { Input } from "../../contract/operations.ts";
import { TextSigner } from "../../domain/access/signed-text.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { GivenQuote, HeldQuote } from "../../domain/market/held-quote.ts";
import type { Caller } from "../invoke.ts";

type User = NonNullable<Caller["user"]>;
/** What a quote and its trade have in common. */
type Terms = Pick<Input<"quoteTrade">, "marketId" | "selection" | "amount" | "shares">;

/** All 256 bits: a quote decides what is paid. */
const TAG_LENGTH = 43;

/** Makes and reads the quotes that users hold, with keys that every process of the tenant has: none is stored. */
export class HeldQuotes {
  readonly #tenantId: string;
  readonly #signer: TextSigner;

  /** @param auditKeys the current one first; earlier ones still verify the quotes that they made */
  constructor(tenantId: string, auditKeys: readonly AuditKey[]) {
    this.#tenantId = tenantId;
    this.#signer = new TextSigner(auditKeys, "quote", TAG_LENGTH);
  }

  /** An opaque text of some 200 characters, which the user gives with a trade on the same terms. */
  make(quote: HeldQuote, terms: Terms, user: User): string {
    const { expiresAt, mark, amountMicro, feeMicro, sharesMicro, yesPriceAfter } = quote;
    const amounts = [mark, amountMicro, feeMicro, sharesMicro].map(String);
    return this.#signer.sign(this.#scope(terms, user), [expiresAt, yesPriceAfter, ...amounts]);
  }

  /** @returns `invalid` for a text that was changed, or made by another tenant, for another user or other terms */
  read(text: string, terms: Terms, user: User): GivenQuote {
    const value = this.#signer.verified(this.#scope(terms, user), text);
    // Another version of this program, which holds the same key, may state other fields.
    if (!isFields(value)) return "invalid";
    const [expiresAt, yesPriceAfter, mark, amountMicro, feeMicro, sharesMicro] = value;
    return {
      expiresAt,
      mark: BigInt(mark),
      amountMicro: BigInt(amountMicro),
      feeMicro: BigInt(feeMicro),
      sharesMicro: BigInt(sharesMicro),
      yesPriceAfter,
    };
  }

  /** Tenants may share a secret, so the tenant is part of the scope. */
  #scope({ marketId, selection: { side, action = "buy" }, amount, shares }: Terms, { id }: User): string {
    const size = String(action === "sell" ? shares : amount);
    return canonicalJson({ tenant: this.#tenantId, user: id, market: marketId, side, action, size });
  }
}

type Fields = [expiresAt: number, yesPriceAfter: number, ...amounts: [string, string, string, string]];
const FIELDS = ["number", "number", "string", "string", "string", "string"];

function isFields(value: unknown): value is Fields {
  return Array.isArray(value) && value.length === FIELDS.length && FIELDS.every((type, i) => typeof value[i] === type);
}

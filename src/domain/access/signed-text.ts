import { createHmac, type KeyObject } from "node:crypto";
import { isSameMac } from "../audit/hmac.ts";
import type { AuditKey } from "../audit/seal.ts";

/**
 * Signs texts that callers carry and bring back, with keys that every process of the tenant has. A text is bound to a scope
 * that it does not state: brought back elsewhere, its tag does not hold.
 */
export class TextSigner {
  readonly #keys: readonly Buffer[];
  readonly #purpose: string;
  readonly #tagLength: number;

  /**
   * @param auditKeys the current one first, which signs; earlier ones still verify what they signed
   * @param purpose in the label of the derived keys and in each signed text, so that no text of one purpose is ever one of
   * another, or an entry's seal
   * @param tagLength characters of base64url, each of six bits
   */
  constructor(auditKeys: readonly AuditKey[], purpose: string, tagLength: number) {
    this.#keys = auditKeys.map(({ key }) => hmac(key, `pmctl-${purpose}-key-v1`));
    this.#purpose = purpose;
    this.#tagLength = tagLength;
  }

  /** @param value JSON */
  sign(scope: string, value: unknown): string {
    const text = Buffer.from(JSON.stringify(value)).toString("base64url");
    const [key] = this.#keys;
    return text + (key ? this.#tag(key, scope, text) : "");
  }

  /** The value that was signed in this scope; undefined for any other text. */
  verified(scope: string, signed: string): unknown {
    const text = signed.slice(0, -this.#tagLength);
    const given = signed.slice(-this.#tagLength);
    // Each key is tried, so that the time taken does not tell which one made it.
    const holds = this.#keys.map((key) => isSameMac(given, this.#tag(key, scope, text))).includes(true);
    return holds ? JSON.parse(Buffer.from(text, "base64url").toString()) : undefined;
  }

  /** Over the text as it travels: base64 that is decoded leniently would have several texts for one value. */
  #tag(key: Buffer, scope: string, text: string): string {
    const tag = hmac(key, `pmctl-${this.#purpose}-v1\n${scope}\n${text}`).toString("base64url");
    return tag.slice(0, this.#tagLength);
  }
}

function hmac(key: KeyObject | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

import { createHmac, type KeyObject } from "node:crypto";
import { isSameMac } from "../audit/hmac.ts";
import type { AuditKey } from "../audit/seal.ts";

/**
 * Signs texts that callers keep and return, with keys that every process of the tenant has. A text is bound to a scope
 * that it does not contain: in another scope its tag is invalid.
 */
export class TextSigner {
  readonly #keys: readonly Buffer[];
  readonly #purpose: string;
  readonly #tagLength: number;

  /**
   * @param auditKeys the current key first, which signs; earlier keys still verify their texts
   * @param purpose part of the label of the derived keys and of each signed text, so that texts of different purposes,
   * and seals of entries, can never be confused
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

  /** The value signed in this scope; undefined for any other text. */
  verified(scope: string, signed: string): unknown {
    const text = signed.slice(0, -this.#tagLength);
    const given = signed.slice(-this.#tagLength);
    // Tries each key, so that the duration does not reveal which key signed.
    const holds = this.#keys.map((key) => isSameMac(given, this.#tag(key, scope, text))).includes(true);
    return holds ? JSON.parse(Buffer.from(text, "base64url").toString()) : undefined;
  }

  /** Covers the text as sent: lenient base64 decoding accepts several texts for the same value. */
  #tag(key: Buffer, scope: string, text: string): string {
    const tag = hmac(key, `pmctl-${this.#purpose}-v1\n${scope}\n${text}`).toString("base64url");
    return tag.slice(0, this.#tagLength);
  }
}

function hmac(key: KeyObject | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

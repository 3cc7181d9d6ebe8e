import { createHash, hash, timingSafeEqual } from "node:crypto";

/** The bytes of a SHA-256 block, and of its digest. */
const BLOCK = 64;
const DIGEST = 32;
/** Space for the texts of all but the largest entries. */
const ROOM = 16_384;
/** The most UTF-8 bytes of a UTF-16 unit. */
const BYTES_PER_UNIT = 3;

/**
 * HMAC-SHA256 (RFC 2104) of texts with one key, hex: H(key ^ opad, H(key ^ ipad, text)). Both hashes are one-shot calls
 * over memory that is reused for each text. `createHmac` takes twice the time, for an object that the garbage collector
 * must finalize.
 */
export function hmacOfTexts(key: Buffer): (text: string) => string {
  const inner = Buffer.alloc(BLOCK + ROOM);
  const outer = Buffer.alloc(BLOCK + DIGEST);
  const block = Buffer.alloc(BLOCK);
  (key.length > BLOCK ? createHash("sha256").update(key).digest() : key).copy(block);
  for (const [at, byte] of block.entries()) {
    inner[at] = byte ^ 0x36;
    outer[at] = byte ^ 0x5c;
  }
  return (text) => {
    const fits = text.length * BYTES_PER_UNIT <= ROOM;
    const message = fits ? inner : Buffer.concat([inner.subarray(0, BLOCK), Buffer.from(text)]);
    const end = fits ? BLOCK + inner.write(text, BLOCK) : message.length;
    outer.write(hash("sha256", message.subarray(0, end), "binary"), BLOCK, "binary");
    return hash("sha256", outer);
  };
}

/**
 * Compares a MAC with the expected one, in a time that does not reveal how much is right. Texts are compared as texts
 * of one length: Buffer.from(x, "hex") ignores everything after the first bad digit.
 */
export function isSameMac(given: string | Buffer, expected: string | Buffer): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

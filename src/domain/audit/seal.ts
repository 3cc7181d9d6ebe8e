import { createHash, createSecretKey, type KeyObject } from "node:crypto";
import { type AuditEntry, auditLines, auditPreimage } from "./audit-link.ts";
import { hmacOfTexts, isSameMac } from "./hmac.ts";

/** The key that seals audit entries. It is stored outside the database; entries name it by its id. */
export interface AuditKey {
  id: string;
  key: KeyObject;
  /** The HMAC-SHA256 of a text with this key, hex. */
  hmac: (text: string) => string;
}

/** The key is the secret's UTF-8 bytes. Its id is derived from them, so a changed secret has a new id. */
export function auditKey(secret: string): AuditKey {
  const id = `ak_${createHash("sha256").update(`pmctl-audit-key\n${secret}`).digest("hex").slice(0, 12)}`;
  const bytes = Buffer.from(secret, "utf8");
  return { id, key: createSecretKey(bytes), hmac: hmacOfTexts(bytes) };
}

/**
 * The entry's link in the chain: an HMAC over its lines and the previous hash, hex.
 * @param lines the result of `auditLines`
 */
export function auditHash(key: AuditKey, previousHash: string, lines: string): string {
  return key.hmac(auditPreimage(previousHash, lines));
}

/** Whether the key with this id made the MAC of a text. A replaced key remains valid for its earlier MACs. */
export function isMacOf(keys: readonly AuditKey[], keyId: string, text: string, mac: string): boolean {
  const key = keys.find(({ id }) => id === keyId);
  return key !== undefined && isSameMac(mac, key.hmac(text));
}

/** The fields of a row that decides about money and that no audit entry states. */
export type SealedFields = readonly (string | number | null)[];

/** The row's seal, `keyId mac`; forging it needs the audit key. @param of the row's table, or a part of it */
export function sealRow({ id, hmac }: AuditKey, of: string, fields: SealedFields): string {
  return `${id} ${hmac(rowText(id, of, fields))}`;
}

/** Whether one of the tenant's audit keys sealed the row in its stored form. */
export function isSealedRow(keys: readonly AuditKey[], of: string, fields: SealedFields, seal: string): boolean {
  const [id = "", mac = ""] = seal.split(" ", 2);
  return isMacOf(keys, id, rowText(id, of, fields), mac);
}

function rowText(keyId: string, of: string, fields: SealedFields): string {
  return `pmctl-row-v1\n${keyId}\n${of}\n${JSON.stringify(fields)}`;
}

/** Whether one of the audit keys sealed the entry onto the entry with the previous hash. */
export type IsSealed = (entry: AuditEntry, previousHash: string) => boolean;

/** A check with these keys. An entry that none of them sealed was forged or altered, and must not be trusted. */
export function sealCheck(keys: readonly AuditKey[]): IsSealed {
  const byId = new Map(keys.map((key) => [key.id, key]));
  return (entry, previousHash) => {
    const key = byId.get(entry.keyId);
    return key !== undefined && auditHash(key, previousHash, auditLines(entry)) === entry.hash;
  };
}

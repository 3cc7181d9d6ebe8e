import { isScope, usualScopes } from "../domain/scopes.ts";
import type { ApiKey, KeyType } from "../engine/rows.ts";

export const KEY_COLUMNS =
  "hash text, name text, type text, scopes text, networks text, created_at bigint, expires_at bigint, version bigint";

export function keyCells(key: ApiKey) {
  const { hash, name, type, scopes, from, createdAt, expiresAt, version } = key;
  return [hash, name, type, scopes.join(" "), from.join(" "), createdAt, expiresAt, version + 1];
}

/** A row as it stands, whoever wrote it: nothing speaks for it yet. */
export function keyOfRow(row: Record<string, unknown>): ApiKey {
  const type = row.type as KeyType;
  return {
    hash: row.hash as string,
    name: row.name as string,
    type,
    scopes: row.scopes === null ? usualScopes(type) : wordsOf(row.scopes).filter(isScope),
    from: wordsOf(row.networks),
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    onRecord: false,
    version: Number(row.version),
  };
}

function wordsOf(text: unknown): string[] {
  return typeof text === "string" ? text.split(" ").filter((word) => word !== "") : [];
}

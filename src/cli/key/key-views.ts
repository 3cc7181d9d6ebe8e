import type { FileRotation } from "../../app/tenant/tenant-secrets.ts";
import type { WireResult } from "../../contract/operations.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";

type Created = WireResult<"createKey">;
type Rotated = WireResult<"rotateKey">;
type Revoked = WireResult<"revokeKey">;

/** A key or secret as `key list` prints it, without its value. */
export interface KeyItem {
  name: string;
  type: string;
  active: boolean;
  /** Like the fields below, null for a secret that is not an API key. */
  onRecord: boolean | null;
  scopes: string[] | null;
  from: string[] | null;
  createdAt: string | null;
  expiresAt: string | null;
  leaked: boolean | null;
  lastUsedAt: string | null;
  /** The place in the tenant file; null for a key that only the database has. */
  reference: string | null;
  fingerprint: string | null;
}

/** The values in the columns of API keys for another secret. */
export const NO_API_KEY = {
  active: true,
  onRecord: null,
  scopes: null,
  from: null,
  createdAt: null,
  expiresAt: null,
  leaked: null,
  lastUsedAt: null,
};

export const listView: View<readonly KeyItem[], KeyItem> = {
  kind: "list",
  rows: (keys) => keys,
  columns: [
    { title: "NAME", cell: ({ name }) => name, whole: true },
    { title: "TYPE", cell: ({ type }) => type },
    { title: "ACTIVE", cell: stateOf },
    { title: "SCOPES", cell: ({ scopes }) => listed(scopes), optional: true, telling: true },
    { title: "FROM", cell: ({ from }) => listed(from), optional: true },
    instantColumn("CREATED", ({ createdAt }) => createdAt, { whole: true, optional: true }),
    instantColumn("EXPIRES", ({ expiresAt }) => expiresAt, { whole: true, optional: true }),
    instantColumn("LAST USED", ({ lastUsedAt }) => lastUsedAt, { whole: true, optional: true }),
    { title: "KEPT IN", cell: ({ reference }) => orDash(reference), whole: true },
    { title: "FINGERPRINT", cell: ({ fingerprint }) => orDash(fingerprint), whole: true, optional: true },
  ],
  empty: "The tenant has no keys yet: pmctl apply creates those of its file.",
};

function stateOf({ active, onRecord, leaked }: KeyItem): string {
  if (onRecord === false) return "NOT ON RECORD";
  return active ? "yes" : leaked ? "leaked" : "no";
}

function listed(texts: readonly string[] | null): string {
  return orDash(texts?.join(", "));
}

export const createdView: View<Created, Created> = {
  kind: "record",
  fields: ({ name, type, scopes, from, key, expiresAt }) => [
    ["name", name],
    ["type", type],
    ["scopes", listed(scopes)],
    ["from", from.length === 0 ? "anywhere" : from.join(", ")],
    ["key", orDash(key)],
    ["expires", orDash(expiresAt && time(expiresAt, { seconds: true }))],
  ],
};

export const rotatedView: View<Rotated, Rotated> = {
  kind: "record",
  fields: ({ name, type, key, expiresAt, oldUntil }) => [
    ["name", name],
    ["type", type],
    ["key", orDash(key)],
    ["expires", orDash(expiresAt && time(expiresAt, { seconds: true }))],
    ["old value until", time(oldUntil, { seconds: true })],
  ],
};

export const revokedView: View<Revoked, Revoked> = {
  kind: "record",
  fields: ({ name, type, revokedAt }) => [
    ["name", name],
    ["type", type],
    ["revoked", time(revokedAt, { seconds: true })],
  ],
};

export const rotationView: View<FileRotation, FileRotation> = {
  kind: "record",
  fields: ({ steps }) => steps.map((step, index) => [`${index + 1}.`, step]),
};

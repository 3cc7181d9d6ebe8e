import { PAGE } from "../../client/pages.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type AuditContent, type AuditPayloads, type AuditType, isOfType } from "../../domain/audit/audit-payloads.ts";

type Entry = WireResult<"listAudit">["entries"][number];
type EntryOf<T extends AuditType> = Entry & AuditContent<T>;

/** The entry that set a value, as far as an operator wants to know. */
interface SetBy {
  seq: number;
  type: string;
  actor: string;
  ts: string;
  reason: string | null;
}

/** Where a rule comes from: the line of the tenant file, and who made it the rule. */
export interface Origin {
  /** As in the tenant file, such as `policy.maxTradeUsd`. */
  field: string;
  /** `file:line:column`; null when the file does not state the field. */
  place: string | null;
  /** What the file says now; null when it does not say. */
  fileValue: unknown;
  /** The last entry before the moment in question that set the field; null when none did, or only very long ago. */
  setBy: SetBy | null;
  /** What is in force now; null for what is not policy. */
  liveValue: unknown;
}

/** Which moment is asked about. */
export interface Moment {
  /** Entries from this one on came later. */
  beforeSeq?: number | undefined;
  /** ISO 8601; later entries do not count. */
  notAfter?: string | undefined;
  /** The limit that held then, as text: of two changes within a millisecond it tells which one counted. */
  limit?: unknown;
}

/** Enough for years of policy; the origin of an older value is unknown. */
const MAX_PAGES = 5;

/** Finds where a field of the tenant file is stated, and the entry that set it. */
export async function findOrigin(
  field: string,
  moment: Moment,
  { config, api }: { config: TenantConfig; api: Api },
): Promise<Origin> {
  const path = field.split(".");
  const [section, name = ""] = path;
  const isPolicy = section === "policy";
  const policy: Record<string, unknown> = isPolicy ? await api.getPolicy({}) : {};
  const updated = isPolicy
    ? await lastEntry(api, "policy.updated", moment, ({ payload }) => setTo(payload, name, moment.limit))
    : undefined;
  const applied = await lastEntry(
    api,
    "config.applied",
    moment,
    ({ payload }) => !isPolicy || Object.hasOwn(object(payload.policy), name),
  );
  const setBy = [updated, applied].filter((entry) => entry !== undefined).toSorted((a, b) => b.seq - a.seq)[0];
  return {
    field,
    place: placeOf(config.source, path),
    fileValue: config.source.states(path) ? (valueAt(config, path) ?? null) : null,
    setBy: setBy ? shown(setBy) : null,
    liveValue: isPolicy ? (valueAt({ policy }, path) ?? null) : null,
  };
}

/** Whether an entry changed the field, and to this limit where both are plain numbers. */
function setTo({ changes }: AuditPayloads["policy.updated"], name: string, limit: unknown): boolean {
  const change = changes?.[name];
  if (change === undefined) return false;
  const { to } = change;
  return typeof limit !== "string" || typeof to !== "number" || String(to) === limit;
}

function placeOf(source: TenantConfig["source"], path: readonly string[]): string | null {
  if (!source.states(path)) return null;
  const { line, column } = source.positionOf(path);
  return `${source.file}:${line}:${column}`;
}

async function lastEntry<T extends AuditType>(
  api: Api,
  type: T,
  { beforeSeq = Number.POSITIVE_INFINITY, notAfter }: Moment,
  matches: (entry: EntryOf<T>) => boolean,
): Promise<EntryOf<T> | undefined> {
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { entries, cursor: next } = await api.listAudit({ type, limit: PAGE, cursor });
    // Timestamps are all of one form, so their texts compare like the instants.
    const found = entries.find(
      (entry): entry is EntryOf<T> =>
        entry.seq < beforeSeq &&
        (notAfter === undefined || entry.ts <= notAfter) &&
        isOfType(entry, type) &&
        matches(entry),
    );
    if (found || next === null) return found;
    cursor = next;
  }
  return undefined;
}

function shown({ seq, type, actor, ts, payload }: Entry): SetBy {
  return { seq, type, actor, ts, reason: typeof payload.reason === "string" ? payload.reason : null };
}

function valueAt(root: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, step) => object(value)[step], root);
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

import { PAGE } from "../../client/pages.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type AuditContent, type AuditPayloads, type AuditType, isOfType } from "../../domain/audit/audit-payloads.ts";

type Entry = WireResult<"listAudit">["entries"][number];
type EntryOf<T extends AuditType> = Entry & AuditContent<T>;

/** The entry that set a value. */
interface SetBy {
  seq: number;
  type: string;
  actor: string;
  ts: string;
  reason: string | null;
}

/** The origin of a rule: its line in the tenant file, and who set it. */
export interface Origin {
  /** The path in the tenant file, such as `policy.maxTradeUsd`. */
  field: string;
  /** `file:line:column`; null when the file does not state the field. */
  place: string | null;
  /** The value in the file now; null when the file does not state the field. */
  fileValue: unknown;
  /** The last entry before the moment that set the field; null without one, or when it is too old to be found. */
  setBy: SetBy | null;
  /** The value in force now; null for a field outside the policy. */
  liveValue: unknown;
}

/** The moment in question. */
export interface Moment {
  /** Entries from this one on came later. */
  beforeSeq?: number | undefined;
  /** In ISO 8601; later entries do not count. */
  notAfter?: string | undefined;
  /** The limit at the moment, as text: it decides between two changes within one millisecond. */
  limit?: unknown;
}

/** Enough for years of policy changes; the origin of an older value stays unknown. */
const MAX_PAGES = 5;

/** Finds where the tenant file states a field, and which entry set it. */
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
    // All timestamps have one form, so comparing the texts compares the instants.
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

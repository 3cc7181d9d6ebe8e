/** The kinds of items that can wait for a person. */
export const INBOX_KINDS = [
  "market.closed",
  "market.held",
  "market.proposed",
  "proposal",
  "withdrawal",
  "kyc",
  "drift",
  "override",
  "key",
  "certificate",
  "receiver",
  "chain",
  "ledger",
  "backup",
  "freeze",
  "unreachable",
] as const;
export type InboxKind = (typeof INBOX_KINDS)[number];

/** One item of a tenant that waits for a person. */
export interface InboxItem {
  tenant: string;
  kind: InboxKind;
  severity: "info" | "warn" | "critical";
  /** Id of the market, withdrawal, field or key that waits. */
  id: string;
  title: string;
  /** The money that waits; for a market its larger payout. */
  amountUsd: number | null;
  /** In ISO 8601: since when the item waits. */
  since: string | null;
  /** In ISO 8601: when the item ends, or takes effect by itself. */
  dueAt: string | null;
  /** Command lines that decide the item or show more, ready to be pasted. */
  commands: string[];
}

/** An item without its tenant. */
export type Waiting = Omit<InboxItem, "tenant">;

/** The tenant and the time span, in milliseconds since 1970, of an inbox. */
export interface Scope {
  tenant: string;
  now: number;
  /** Items that end later are not shown. */
  until: number;
}

/** Items that come before any money: while they are open, nothing else in the inbox is reliable. */
const FIRST: readonly InboxKind[] = ["chain", "ledger", "unreachable"];

/** Order of an inbox: broken evidence and tenants out of reach, then most money, then soonest due, then longest waiting. */
export function compareItems(a: InboxItem, b: InboxItem): number {
  return (
    rankOf(a) - rankOf(b) ||
    (b.amountUsd ?? -1) - (a.amountUsd ?? -1) ||
    compareTimes(a.dueAt, b.dueAt) ||
    compareTimes(a.since, b.since)
  );
}

function rankOf({ kind }: InboxItem): number {
  const rank = FIRST.indexOf(kind);
  return rank < 0 ? FIRST.length : rank;
}

/** Earlier times first; null comes last. */
function compareTimes(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return Date.parse(a) - Date.parse(b);
}

/** The result of an inbox for a scheduled check. */
export type InboxState = "integrity" | "unreachable" | "partly unreachable" | "waiting" | "clear";

/** @param tenants the number of examined tenants */
export function stateOf(items: readonly InboxItem[], tenants: number): InboxState {
  if (items.some(({ kind }) => kind === "chain" || kind === "ledger")) return "integrity";
  const unreachable = new Set(items.filter(({ kind }) => kind === "unreachable").map(({ tenant }) => tenant)).size;
  if (unreachable > 0) return unreachable === tenants ? "unreachable" : "partly unreachable";
  return items.some(({ severity }) => severity !== "info") ? "waiting" : "clear";
}

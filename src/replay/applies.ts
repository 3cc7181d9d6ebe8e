import type { AuditType } from "../domain/audit/audit-payloads.ts";
import type { LoggedEntry } from "./take-entry.ts";

/** What an apply records before its own entry, beside `state.recorded`, which no capital comes before. */
export const OF_APPLY: ReadonlySet<AuditType> = new Set<AuditType>([
  "key.created",
  "key.revoked",
  "market.created",
  "market.suspended",
  "market.resumed",
  "market.imported",
  "market.moved",
]);

/**
 * Entries in the order in which the service took them. An apply pays its capital in first, by which its markets are
 * funded, but its entry, which states the capital, is its last one: here it comes before the others of its moment.
 * @param pages in the order of the log
 */
export async function* asTaken<Entry extends LoggedEntry>(
  pages: AsyncIterable<readonly Entry[]>,
): AsyncGenerator<Entry[]> {
  const waiting: Entry[] = [];
  for await (const page of pages) {
    const ready: Entry[] = [];
    for (const entry of page) {
      const isApply = entry.type === "config.applied" && waiting.at(-1)?.at === entry.at;
      const mayBeOfApply = OF_APPLY.has(entry.type);
      if (isApply) ready.push(entry);
      if (!mayBeOfApply || waiting.at(-1)?.at !== entry.at) for (const each of waiting.splice(0)) ready.push(each);
      if (mayBeOfApply) waiting.push(entry);
      else if (!isApply) ready.push(entry);
    }
    yield ready;
  }
  yield waiting;
}

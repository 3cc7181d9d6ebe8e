import { difference } from "./match.ts";
import { SWEEPER, sweptBy } from "./model-approvals.ts";
import type { ExpectedEntry, LogEntry, State } from "./model-state.ts";
import { sealOf } from "./tenant.ts";

/** The first place where the service and the model part. */
export class Departure extends Error {}

export type SealedEntry = LogEntry & { keyId: string; payloadText: string };

/** Entries that go on where the log ends, each sealed onto the one before it. */
export function checkSeals(log: readonly LogEntry[], entries: readonly SealedEntry[]): LogEntry[] {
  let { seq: last, hash: previous } = log.at(-1) ?? { seq: 0, hash: "0".repeat(64) };
  return entries.map((entry) => {
    const { seq, type, actor, hash, ts, payload } = entry;
    if (seq !== last + 1) throw new Departure(`the log goes on with entry ${seq} after ${last}`);
    if (hash !== sealOf(previous, entry)) throw new Departure(`entry ${seq} is not sealed onto the one before it`);
    [last, previous] = [seq, hash];
    return { seq, type, actor, hash, ts, payload };
  });
}

/** Holds new entries of the log against what the model expects; closings and due proposals come by themselves. */
export function takeIn(state: State, logged: readonly LogEntry[], expected: readonly ExpectedEntry[]): void {
  const waiting = [...expected];
  for (const [index, entry] of logged.entries()) {
    state.log.push(entry);
    if (entry.type === "market.closed" && isDue(state, entry)) continue;
    if (waiting.length === 0 && entry.actor === SWEEPER) {
      const end = logged.slice(index).find(({ type }) => type === "proposal.executed");
      waiting.push(...((end && sweptBy(state, end)) ?? []));
    }
    let next = waiting.shift();
    if (next?.isOptional && next.type !== entry.type) next = waiting.shift();
    if (!next) throw new Departure(`the log has an entry that nothing explains: ${JSON.stringify(entry)}`);
    const { type, actor, payload } = next;
    const found = difference({ type, actor, payload }, entry, `entry ${entry.seq}`);
    if (found !== undefined) throw new Departure(`the log departs\n  ${found}`);
    next.logged?.(entry);
  }
  if (waiting.some(({ isOptional }) => !isOptional)) throw new Departure(`the log lacks ${JSON.stringify(waiting)}`);
}

/** Once for each market whose time has come, by the machine's own hand. */
function isDue({ markets, log }: State, { actor, payload, ts }: LogEntry): boolean {
  const market = markets.find(({ id }) => id === payload.marketId);
  if (!market || market.closingRecorded || actor !== "oracle") return false;
  // The answer of a settlement is known before the log is read, so the market may be settled by now, after it was closed.
  const isEnd = (type: string) => type === "market.settled" || type === "market.voided";
  if (log.some(({ type, payload: { marketId } }) => isEnd(type) && marketId === market.id)) return false;
  market.closingRecorded = true;
  return Date.parse(ts) >= market.closeAt;
}

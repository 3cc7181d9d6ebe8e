import { tradingTerms } from "../../plan/judge.ts";
import { loggedEntry } from "../../replay/logged-rows.ts";
import { type PlacedEntry, type Replay, replayWindow } from "../../replay/replay.ts";
import type { PlannedTenant } from "../apply/plan-tenant.ts";
import { type Entry, textAfter } from "../audit/walk-log.ts";
import type { LiveTenant } from "../tenant/config-session.ts";

/**
 * Decides the recorded commands since `from` again under the rules that a plan proposes. Reads only the log, through a
 * server or the database, and writes nothing.
 * @param tenant undefined for a tenant that was never applied, whose window is empty
 */
export async function replayPlan(
  { plan, desired, live }: PlannedTenant,
  tenant: Pick<LiveTenant, "api" | "logText"> | undefined,
  from: number,
): Promise<Replay> {
  const entries = tenant ? entryPages(await textAfter(tenant.api, tenant.logText)) : nothing();
  return replayWindow(entries, { from, to: Date.parse(live.now) }, tradingTerms(plan, desired, live).after);
}

async function* nothing(): AsyncGenerator<never> {}

async function* entryPages(texts: AsyncIterable<string>): AsyncGenerator<PlacedEntry[]> {
  for await (const text of texts)
    yield text
      .trimEnd()
      .split("\n")
      .flatMap((line) => {
        const entry = JSON.parse(line) as Entry;
        const logged = loggedEntry(entry);
        return logged ? [{ ...logged, seq: BigInt(entry.seq), hash: entry.hash }] : [];
      });
}

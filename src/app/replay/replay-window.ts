import { loggedEntry } from "../../replay/logged-rows.ts";
import { type PlacedEntry, type Replay, type ReplayTerms, replayWindow } from "../../replay/replay.ts";
import { type Entry, textAfter } from "../audit/walk-log.ts";
import type { LiveTenant } from "../tenant/config-session.ts";

/**
 * Decides the recorded commands of a window again under other rules, from the log alone: through a server or the
 * database, and nothing is written.
 * @param tenant undefined for one that was never applied, whose window is empty
 */
export async function replayUnder(
  terms: ReplayTerms,
  tenant: Pick<LiveTenant, "api" | "logText"> | undefined,
  window: Parameters<typeof replayWindow>[1],
): Promise<Replay> {
  return replayWindow(tenant ? entryPages(await textAfter(tenant.api, tenant.logText)) : nothing(), window, terms);
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

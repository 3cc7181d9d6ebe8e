import { settlingOf } from "../../client/inbox/waiting.ts";
import { counted } from "../../domain/text.ts";
import { tooFewSources } from "../../plan/judge.ts";
import type { Sql } from "../../postgres/connect.ts";
import { type HeldRow, listHeldMarkets, listPromises, type PromiseRow } from "../../queries/oracle.ts";
import { isFeedUnchanged, type OracleSetup } from "../../services/oracle/feeds.ts";
import { tenantFeeds } from "../tenant/tenant-oracle.ts";
import { type Examined, type Finding, ok, warn } from "./check.ts";

/** Beyond this number a count says nothing more. */
const MOST_HELD = 200;

export async function examineOracle(sql: Sql, { id, config }: Examined): Promise<Finding[]> {
  const [promises, held] = [await listPromises(sql), await listHeldMarkets(sql, { limit: MOST_HELD })];
  return [...evaluatePromises(tenantFeeds(config), promises, id), evaluateHeld(held, id)];
}

/** Markets whose time has come and that the oracle left to a person, the longest first: traders wait for money. */
export function evaluateHeld(held: readonly HeldRow[], tenant: string): Finding {
  const [first] = held;
  if (!first) return ok("held markets", "no market waits for a person");
  const markets = held.length < MOST_HELD ? counted(held.length, "market") : `${MOST_HELD} markets or more`;
  const since = new Date(first.heldAt).toISOString();
  return warn(
    "held markets",
    `the oracle left ${markets} to a person, ${first.id} for the longest time, since ${since}: ${first.reason}, ${first.detail}`,
    "Look at the sources, or settle it by hand",
    `pmctl oracle check -t ${tenant}`,
    ...settlingOf(first.id, tenant),
  );
}

/** Whether the feeds can still settle the markets that were created on them, before those close. */
export function evaluatePromises(setup: OracleSetup, promises: readonly PromiseRow[], tenant: string): Finding[] {
  if (promises.length === 0) return [ok("oracle", "no market waits for a feed")];
  const doubts = promises.flatMap((promise) => evaluatePromise(setup, promise, tenant));
  if (doubts.length > 0) return doubts;
  const markets = promises.reduce((sum, each) => sum + each.markets, 0);
  return [ok("oracle", `${counted(markets, "market")} can be decided by ${counted(promises.length, "feed")}`)];
}

function evaluatePromise(setup: OracleSetup, { markets, first, ...promise }: PromiseRow, tenant: string): Finding[] {
  const { feed: key } = promise;
  const feed = setup.feeds.get(key);
  const waiting = `${counted(markets, "market")}, ${first} first`;
  const byHand = "settle by hand when it closes";
  if (!feed || !isFeedUnchanged(setup, promise))
    return [
      warn(
        `oracle ${key}`,
        `${feed ? "differs from the feed of its markets" : "is no feed any more"}, so they will be held: ${waiting}`,
        `Put the feed and its sources back as they were in the tenant file, or ${byHand}`,
        ...settlingOf(first, tenant),
      ),
    ];
  const usable = feed.sources.filter(({ use }) => !setup.lacking.has(use)).length;
  if (usable >= feed.quorum) return [];
  return [
    warn(
      `oracle ${key}`,
      `${tooFewSources(feed, usable, setup)}, so its markets will be held: ${waiting}`,
      `State what the sources need in the tenant file, or ${byHand}`,
      `pmctl oracle feeds -t ${tenant}`,
      ...settlingOf(first, tenant),
    ),
  ];
}

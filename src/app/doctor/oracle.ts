import { counted } from "../../domain/text.ts";
import { listPromises, type PromiseRow } from "../../queries/oracle.ts";
import { isFeedUnchanged, type OracleSetup } from "../../services/feeds.ts";
import { tooFewSources } from "../apply/market-warnings.ts";
import { tenantFeeds } from "../tenant/tenant-oracle.ts";
import { type Check, type CheckGroup, ok, warn, withoutDatabase } from "./check.ts";

export const oracleGroup: CheckGroup = {
  name: "oracle",
  run: async ({ sql, config }) =>
    sql ? evaluatePromises(tenantFeeds(config), await listPromises(sql)) : withoutDatabase("oracle"),
};

/** Whether the feeds can still settle the markets that were created on them, before those close. */
export function evaluatePromises(setup: OracleSetup, promises: readonly PromiseRow[]): Check[] {
  if (promises.length === 0) return [ok("oracle", "no market waits for a feed")];
  const doubts = promises.flatMap((promise) => evaluatePromise(setup, promise));
  if (doubts.length > 0) return doubts;
  const markets = promises.reduce((sum, each) => sum + each.markets, 0);
  return [ok("oracle", `${counted(markets, "market")} can be decided by ${counted(promises.length, "feed")}`)];
}

function evaluatePromise(setup: OracleSetup, { markets, first, ...promise }: PromiseRow): Check[] {
  const { feed: key } = promise;
  const feed = setup.feeds.get(key);
  const waiting = `${counted(markets, "market")}, ${first} first`;
  const byHand = `settle by hand when it closes: pmctl market settle ${first} --outcome yes|no`;
  if (!feed || !isFeedUnchanged(setup, promise))
    return [
      warn(
        `oracle ${key}`,
        `${feed ? "is another than when the markets on it were created" : "is no feed any more"}, so they will be held: ${waiting}`,
        `Put the feed and its sources back as they were in the tenant file, or ${byHand}`,
      ),
    ];
  const usable = feed.sources.filter(({ use }) => !setup.lacking.has(use)).length;
  if (usable >= feed.quorum) return [];
  return [
    warn(
      `oracle ${key}`,
      `${tooFewSources(feed, usable, setup)}, so its markets will be held: ${waiting}`,
      `State what the sources need in the tenant file (pmctl oracle feeds), or ${byHand}`,
    ),
  ];
}

import type { WireResult } from "../../contract/operations.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { price } from "../format.ts";
import { useLive } from "../live/use-live.ts";
import { Action } from "../parts/action.tsx";
import { Facts } from "../parts/facts.tsx";
import { EntryLink, MarketLink } from "../parts/links.tsx";
import { Table } from "../parts/table.tsx";
import { Sentence, Time } from "../parts/time.tsx";
import { Section, View } from "../parts/view.tsx";
import { addressOf } from "../router.ts";
import { pmctl } from "../terminal-line.ts";
import { FeedLink, Feeds, feedOf } from "./oracle/feeds.tsx";
import { Samples } from "./oracle/samples.tsx";
import { sweepOf } from "./oracle/sweep.tsx";

const NEXT = 20;
/** The rules of so many markets tell which feeds are in use. */
const READ = 100;
/** Sweeps and prices leave no entry in the log that says when to read again. */
const BEAT_MS = 2000;

/** What settles markets by itself: what it left to people, its feeds, what comes next, and what it decided. */
export function OracleView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const feed = query.get("feed") || undefined;
  const live = useLive(
    async (api) => {
      const [status, feeds, held] = await Promise.all([
        api.getOracleStatus({}),
        api.listFeeds({}),
        api.listHeldMarkets({}),
      ]);
      return { status, feeds, held };
    },
    "",
    BEAT_MS,
  );
  const open = useLive((api) => api.listMarkets({ status: "open", limit: READ }), "");
  return (
    <View name="Oracle" live={live} line={pmctl(tenant, "oracle", "status")} tools={<Action of={sweepOf(tenant)} />}>
      {({ status, feeds, held }) => (
        <>
          <Facts
            of={[
              ["Feeds", String(status.supportedFeeds)],
              ["Markets that it settles", String(status.eligibleMarkets)],
              ["Last sweep", <Time key="sweep" at={status.lastSweepAt} />],
            ]}
          />
          <h2>Held for a person</h2>
          <Table
            name="Held markets"
            rows={held}
            id={({ marketId }) => marketId}
            kind={({ reason }) => reason}
            empty="The oracle left no market to a person."
            columns={[
              { title: "Market", cell: ({ marketId, question }) => <MarketLink id={marketId} question={question} /> },
              {
                title: "Why",
                cell: ({ detail }) => (
                  <bdi dir="auto">
                    <Sentence of={detail} />
                  </bdi>
                ),
              },
              { title: "Rule", cell: ({ resolutionRef }) => <bdi>{resolutionRef}</bdi> },
              { title: "Since", cell: ({ heldAt }) => <Time at={heldAt} /> },
              {
                title: "Decide",
                cell: ({ marketId }) => <MarketLink id={marketId} question="Settle or void it on its page" />,
              },
            ]}
          />
          {feed && <Samples key={feed} feed={feed} />}
          <Section title="Feeds" live={open}>
            {({ items, nextCursor }) => (
              <Feeds
                of={feeds}
                rules={[...held, ...items].map(({ resolutionRef = "" }) => resolutionRef)}
                users={nextCursor === null ? "no open market" : `none of the next ${READ} markets to close`}
              />
            )}
          </Section>
          <Section title="Next to close" live={open}>
            {({ items }) => (
              <>
                <Table
                  name="Next closings"
                  rows={items.slice(0, NEXT)}
                  id={({ id }) => id}
                  empty="No market is open. Create one on the page Markets."
                  columns={[
                    { title: "Market", cell: ({ id, question }) => <MarketLink id={id} question={question} /> },
                    { title: "Closes", cell: ({ closeAt }) => <Time at={closeAt} /> },
                    { title: "Rule", cell: ({ resolutionRef }) => <bdi>{resolutionRef}</bdi> },
                    { title: "Feed", cell: ({ resolutionRef = "" }) => <FeedLink of={feedOf(resolutionRef)} /> },
                  ]}
                />
                {items.length > NEXT && <a href={addressOf("/markets", { status: "open" })}>All open markets</a>}
              </>
            )}
          </Section>
          <h2>Latest resolutions</h2>
          <p>
            What the oracle decided itself. A market's page says who decided it and why; the record has{" "}
            <a href={addressOf("/record", { type: "market.settled" })}>every settlement, of people too</a>.
          </p>
          <Resolutions of={status.recentResolutions} />
        </>
      )}
    </View>
  );
}

function Resolutions({ of }: { of: WireResult<"getOracleStatus">["recentResolutions"] }) {
  return (
    <Table
      name="Resolutions"
      rows={of}
      id={({ marketId }) => marketId}
      empty="The oracle has not decided a market yet."
      columns={[
        { title: "When", cell: ({ ts }) => <Time at={ts} /> },
        { title: "Market", cell: ({ marketId, question }) => <MarketLink id={marketId} question={question} /> },
        { title: "Outcome", cell: ({ outcome }) => (outcome === 1 ? "Yes" : "No") },
        { title: "Price", isNumber: true, cell: ({ price: decisive }) => price(decisive) },
        { title: "Strike", isNumber: true, cell: ({ strikes }) => strikes.map(price).join(" to ") },
        {
          title: "Evidence",
          cell: ({ ref, sequence }) => (
            <>
              <bdi>{ref}</bdi> <EntryLink seq={sequence} />
            </>
          ),
        },
      ]}
    />
  );
}

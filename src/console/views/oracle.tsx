import type { WireResult } from "../../contract/operations.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { Action, type ActionOf } from "../parts/action.tsx";
import { Facts } from "../parts/facts.tsx";
import { EntryLink, MarketLink } from "../parts/links.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { option, pmctl } from "../terminal-line.ts";
import { Feeds } from "./oracle/feeds.tsx";
import { Samples } from "./oracle/samples.tsx";

const NEXT = 20;
/** Sweeps and prices leave no entry in the log that says when to read again. */
const BEAT_MS = 2000;

/** What settles markets by itself: what it left to people, its feeds, what comes next, and what it decided. */
export function OracleView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const feed = query.get("feed") || undefined;
  const live = useLive(
    async (api) => {
      const [status, feeds, held, { items: next }] = await Promise.all([
        api.getOracleStatus({}),
        api.listFeeds({}),
        api.listHeldMarkets({}),
        api.listMarkets({ limit: NEXT }),
      ]);
      return { status, feeds, held, next };
    },
    "",
    BEAT_MS,
  );
  return (
    <View name="Oracle" live={live} line={pmctl(tenant, "oracle", "status")} tools={<Action of={sweepOf(tenant)} />}>
      {({ status, feeds, held, next }) => (
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
              { title: "Why", cell: ({ detail }) => <bdi>{detail}</bdi> },
              { title: "Rule", cell: ({ resolutionRef }) => <bdi>{resolutionRef}</bdi> },
              { title: "Since", cell: ({ heldAt }) => <Time at={heldAt} /> },
            ]}
          />
          {feed && <Samples key={feed} feed={feed} />}
          <h2>Feeds</h2>
          <Feeds of={feeds} />
          <h2>Next to close</h2>
          <Table
            name="Next closings"
            rows={next}
            id={({ id }) => id}
            empty="No market is open. Create one on the page Markets."
            columns={[
              { title: "Market", cell: ({ id, question }) => <MarketLink id={id} question={question} /> },
              { title: "Closes", cell: ({ closeAt }) => <Time at={closeAt} /> },
            ]}
          />
          <h2>Latest resolutions</h2>
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
        { title: "Price", isNumber: true, cell: ({ price }) => String(price) },
        { title: "Strike", isNumber: true, cell: ({ strikes }) => strikes.join(" to ") },
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

const sweepOf = (tenant: string): ActionOf<void> => ({
  label: "Sweep",
  thing: "every due market",
  scope: "settle",
  explain: () => (
    <p>The oracle asks its sources about every market whose time has come, and settles those that they decide.</p>
  ),
  run: (api) => api.sweepOracle({}),
  line: (_values, reason) => pmctl(tenant, "oracle", "sweep", ...option("reason", reason)),
  done: (result) => {
    const { watched, settled, held } = result as WireResult<"sweepOracle">;
    return `Looked at ${watched}, settled ${settled.length}, left ${held.length} to a person.`;
  },
});

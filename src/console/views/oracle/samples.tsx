import type { WireResult } from "../../../contract/operations.ts";
import { useDesk } from "../../desk.ts";
import { count, price } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Chart } from "../../parts/chart.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { pmctl } from "../../terminal-line.ts";
import { priceOr } from "./feeds.tsx";

type Source = WireResult<"listFeedSamples">["sources"][number];

const BEAT_MS = 2000;
const COLORS = ["--accent", "--warn", "--good", "--bad", "--muted"];

/** What the sources of a feed have shown lately, as curves, and how far each lies from the others. */
export function Samples({ feed }: { feed: string }) {
  const { tenant } = useDesk().session;
  const live = useLive((api) => api.listFeedSamples({ feed }), feed, BEAT_MS);
  return (
    <>
      <Section title={`Samples of ${feed}`} live={live} isAsked>
        {({ sources }) => (
          <>
            <Curves of={sources} />
            <Table
              name="Sources"
              rows={sources}
              id={({ source, symbol }) => `${source} ${symbol}`}
              kind={({ samples }) => (samples.length > 0 ? "seen" : "silent")}
              empty="The feed has no source. Add one below oracle in the tenant file."
              columns={[
                { title: "Source", cell: ({ source }) => <bdi>{source}</bdi> },
                { title: "Its name", cell: ({ symbol }) => <bdi>{symbol}</bdi> },
                { title: "Price", isNumber: true, cell: ({ samples }) => priceOr(samples.at(-1)?.price) },
                { title: "From the middle", isNumber: true, cell: ({ apart }) => priceOr(apart) },
                { title: "Observed", cell: ({ samples }) => <Time at={samples.at(-1)?.observedAt ?? null} /> },
                { title: "Shown last", cell: ({ confirmedAt }) => <Time at={confirmedAt} /> },
                { title: "Samples", isNumber: true, cell: ({ samples }) => count(samples.length) },
              ]}
            />
          </>
        )}
      </Section>
      <Terminal line={pmctl(tenant, "oracle", "samples", feed)} />
      <p>
        <a href={addressOf("/oracle")}>Close the samples</a>
      </p>
    </>
  );
}

function Curves({ of }: { of: readonly Source[] }) {
  const curves = of
    .filter(({ samples }) => samples.length > 0)
    .map(({ source, symbol, samples }, index) => ({
      name: `${source} ${symbol}`,
      color: COLORS[index % COLORS.length] ?? "--accent",
      points: samples.map(({ observedAt, price }) => [Date.parse(observedAt), Number(price)] as const),
    }));
  if (curves.length === 0)
    return (
      <p class="empty">
        No price is stored. Servers ask the sources near the instants that decide markets, and store the prices; “Check
        now” asks them at once, and stores nothing.
      </p>
    );
  return <Chart name="Prices by source" curves={curves} scale={{ y: price }} />;
}

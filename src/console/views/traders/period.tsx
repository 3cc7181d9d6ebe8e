import { useDesk } from "../../desk.ts";
import { count, percent } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { option, pmctl } from "../../terminal-line.ts";

const DAYS = 30;

/** A trader's result within a period. */
export function PeriodResult({ id }: { id: string }) {
  const { tenant } = useDesk().session;
  const live = useLive((api) => api.getTradersReport({ periodDays: DAYS, userId: id }), id);
  return (
    <Section title={`Result of ${DAYS} days`} live={live}>
      {({ traders: [own] }) => (
        <>
          {own ? (
            <Facts
              of={[
                ["Volume", <Usd key="volume" of={own.volume} />],
                ["Trades", count(own.trades)],
                ["Markets", count(own.markets)],
                ["Won", own.winRate === null ? "—" : percent(own.winRate)],
                ["Realised", <Usd key="realised" of={own.realizedPnl} />],
                ["Unrealised, at current prices", <Usd key="unrealised" of={own.unrealizedPnl} />],
                ["In all, at current prices", <Usd key="all" of={own.totalPnl} />],
                ["Unrealised, if sold now instead", <Usd key="sell" of={own.sellPnl} />],
              ]}
            />
          ) : (
            <p class="empty">The trader did not trade within the period.</p>
          )}
          <Terminal line={pmctl(tenant, "report", "traders", ...option("days", DAYS), ...option("user", id))} />
        </>
      )}
    </Section>
  );
}

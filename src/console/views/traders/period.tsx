import { useRef } from "preact/hooks";
import type { Api, WireResult } from "../../../contract/operations.ts";
import { wallClockMs } from "../../../domain/time/clock.ts";
import { MINUTE_MS } from "../../../domain/time/units.ts";
import { useDesk } from "../../desk.ts";
import { count, percent } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { option, pmctl } from "../../terminal-line.ts";

const DAYS = 30;

type Report = WireResult<"getTradersReport">;

/** A trader's result within a period. The report goes through all trades of it, so it is read once a minute at most. */
export function PeriodResult({ id }: { id: string }) {
  const { tenant } = useDesk().session;
  const kept = useRef<{ atMs: number; report: Promise<Report> } | undefined>(undefined);
  const read = (api: Api): Promise<Report> => {
    const nowMs = wallClockMs();
    if (kept.current && nowMs - kept.current.atMs < MINUTE_MS) return kept.current.report;
    const report = api.getTradersReport({ periodDays: DAYS });
    kept.current = { atMs: nowMs, report };
    report.catch(() => {
      kept.current = undefined;
    });
    return report;
  };
  const live = useLive(read, id);
  return (
    <Section title={`Result of ${DAYS} days`} live={live}>
      {({ traders }) => {
        const own = traders.find(({ userId }) => userId === id);
        return (
          <>
            {own ? (
              <Facts
                of={[
                  ["Volume", <Usd key="volume" of={own.volume} />],
                  ["Trades", count(own.trades)],
                  ["Markets", count(own.markets)],
                  ["Won", own.winRate === null ? "—" : percent(own.winRate)],
                  ["Realised", <Usd key="realised" of={own.realizedPnl} />],
                  ["Unrealised, if sold now", <Usd key="sell" of={own.sellPnl} />],
                  ["In all", <Usd key="all" of={own.totalPnl} />],
                ]}
              />
            ) : (
              <p class="empty">
                The report names the 100 traders with the most volume, and this trader is not among them.
              </p>
            )}
            <Terminal line={pmctl(tenant, "report", "traders", ...option("days", DAYS))} />
          </>
        );
      }}
    </Section>
  );
}

import { useEffect, useMemo, useState } from "preact/hooks";
import type { FrameMarket } from "../../contract/resources/embed.ts";
import { pointsOf } from "../../domain/embed/curve-steps.ts";
import type { Mechanism } from "../../domain/market/market.ts";
import type { OutcomeShape } from "../../domain/market/outcome.ts";
import type { Pool } from "../../domain/market/pool.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import type { Point } from "../chart/curve.ts";
import type { ServerClock } from "../stream/clock.ts";
import { poolAt } from "../ticket/quote.ts";
import { type Liveness, useLive } from "./live.ts";
import type { Viewer } from "./viewer.ts";

/** Points that a page keeps; a busy market adds one with every trade. */
const MOST_POINTS = 2000;
/** A market that was read longer ago is read again after an interruption of the stream. */
const MAY_BE_OLD_MS = 30_000;

/** A market as it stands now. */
export interface LiveMarket extends Liveness {
  mechanism: Mechanism;
  pool: Pool;
  yesPrice: number;
  status: string;
  outcome: OutcomeShape<number> | null;
  /** USD traded so far. */
  volume: number;
  points: readonly Point[];
}

/** A market as it was read, kept up to date by the stream; words about it come by reading it again. */
export function useMarket({ detail, terms, history, proposal }: FrameMarket, viewer: Viewer): LiveMarket {
  const mechanism = useMemo<Mechanism>(
    () => ({ kind: terms.kind, p0Ppm: terms.p0Ppm, fundMicro: BigInt(terms.fundMicro) }),
    [terms],
  );
  const opening = useMemo<Pool>(() => ({ yesMicro: BigInt(terms.yesMicro), noMicro: BigInt(terms.noMicro) }), [terms]);
  const [yesPrice, setYesPrice] = useState(detail.yesPrice);
  const [status, setStatus] = useState<string>(detail.status);
  const [outcome, setOutcome] = useState<OutcomeShape<number> | null>(detail.outcome);
  const [volume, setVolume] = useState(detail.volume);
  const [points, setPoints] = useState<Point[]>(() => pointsOf(history).map(([t, yes]) => ({ t, yes })));
  const pool = useMemo(() => poolAt(mechanism, opening, yesPrice), [mechanism, opening, yesPrice]);
  const { api, refresh, renew } = viewer;

  const liveness = useLive(viewer, [detail.id], ({ event, data }) => {
    if (event === "snapshot") {
      const now = data.markets.find(({ marketId }) => marketId === detail.id);
      if (!now) return;
      setYesPrice(now.yesPrice);
      setStatus(now.status);
      // What else happened without a stream is known by reading only.
      const isKnown =
        now.status === detail.status &&
        now.clarifications === detail.clarifications.length &&
        now.proposalId === proposal?.id;
      renew(isKnown ? MAY_BE_OLD_MS : 0);
      // Trades happened while there was no stream: the curve continues at the price after them.
      setPoints((before) =>
        before.at(-1)?.yes === now.yesPrice ? before : [...before, { t: api.clock.now(), yes: now.yesPrice }],
      );
    } else if (event === "price") {
      setYesPrice(data.yesPrice);
      setPoints((before) => [...before.slice(1 - MOST_POINTS), { t: Date.parse(data.ts), yes: data.yesPrice }]);
    } else if (event === "trade") setVolume((before) => before + data.amount);
    else if (event === "clarification" || event === "proposal") renew();
    else if (event === "market") {
      setStatus(data.status);
      if (data.outcome) setOutcome(data.outcome);
      if (data.status === "settled") {
        refresh();
        renew();
      }
    } else if (event === "fill") refresh();
  });
  useEffect(() => {
    if (!detail.outcome) return;
    setStatus("settled");
    setOutcome(detail.outcome);
  }, [detail]);
  return { mechanism, pool, yesPrice, status, outcome, volume, points, ...liveness };
}

/** The server's time; it moves every ten seconds, in the hour before `closeAt` every second. */
export function useServerTime(clock: ServerClock, closeAt: string): number {
  const [now, setNow] = useState(() => clock.now());
  const left = Date.parse(closeAt) - now;
  const stepMs = left > 0 && left < HOUR_MS ? 1000 : 10_000;
  useEffect(() => {
    const timer = setInterval(() => setNow(clock.now()), stepMs);
    return () => clearInterval(timer);
  }, [clock, stepMs]);
  return now;
}

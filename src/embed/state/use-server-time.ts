import { useEffect, useState } from "preact/hooks";
import { HOUR_MS } from "../../domain/time/units.ts";
import type { ServerClock } from "../stream/clock.ts";

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

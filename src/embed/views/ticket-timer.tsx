import { useEffect, useState } from "preact/hooks";
import { useSpeech } from "../speech.ts";

const TICK_MS = 250;

export interface TicketTimerProps {
  /** On the clock of `performance.now`. */
  endsAtMs: number;
  onEnd(): void;
}

/** A ring that empties while a quote holds, around the seconds that are left. A role of timer is not read out each second. */
export function TicketTimer({ endsAtMs, onEnd }: TicketTimerProps) {
  const { say } = useSpeech();
  const [startedAt] = useState(() => performance.now());
  const [now, setNow] = useState(startedAt);
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(performance.now());
      if (performance.now() >= endsAtMs) onEnd();
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [endsAtMs]);
  const leftMs = Math.max(0, endsAtMs - now);
  const count = Math.ceil(leftMs / 1000);
  const spent = 1 - leftMs / Math.max(1, endsAtMs - startedAt);
  return (
    <span class="timer" data-pm="timer" role="timer" aria-label={say("ticket.secondsLeft", { count })}>
      <svg viewBox="0 0 36 36" aria-hidden="true">
        <circle cx="18" cy="18" r="15" />
        <circle class="left" cx="18" cy="18" r="15" pathLength={1} stroke-dasharray="1" stroke-dashoffset={spent} />
      </svg>
      <span aria-hidden="true">{count}</span>
    </span>
  );
}

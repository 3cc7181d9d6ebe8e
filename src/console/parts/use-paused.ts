import { useEffect, useState } from "preact/hooks";

const PAUSE_MS = 250;

/** A text as it was when it last did not change for a moment: while a person types, nothing is asked about it. */
export function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}

import { useEffect, useState } from "preact/hooks";
import { useSpeech } from "../speech.ts";
import type { Router } from "../state/router.ts";
import { sayWords, wordsForReading } from "../words.ts";

/** Stands in place of a view that cannot be shown: it says why, comes back by itself, and leaves a way back. */
export function Unavailable({ router }: { router: Router }) {
  const speaker = useSpeech();
  const { say } = speaker;
  const { trouble, origin } = router;
  const left = useSecondsUntil(trouble?.retryAtMs);
  if (!trouble) return null;
  return (
    <main class="unavailable" data-pm="unavailable">
      <p role="status">{sayWords(speaker, wordsForReading(trouble.refused))}</p>
      {left > 0 && <p class="soft">{say("state.retryIn", { count: left })}</p>}
      <p class="ways">
        <button type="button" onClick={() => router.retry()}>
          {say("state.retry")}
        </button>
        {origin && (
          <button type="button" class="link" data-pm="back" onClick={() => router.back()}>
            {say("common.back")}
          </button>
        )}
      </p>
    </main>
  );
}

/** Whole seconds; 0 for a moment that has passed, or none. */
function useSecondsUntil(atMs = 0): number {
  const secondsLeft = (): number => Math.max(0, Math.ceil((atMs - performance.now()) / 1000));
  const [left, setLeft] = useState(secondsLeft);
  useEffect(() => {
    setLeft(secondsLeft());
    const timer = setInterval(() => setLeft(secondsLeft()), 250);
    return () => clearInterval(timer);
  }, [atMs]);
  return left;
}

import { useEffect, useMemo, useState } from "preact/hooks";
import { useSpeech } from "../speech.ts";
import { type Offer, sayWords, type Words } from "../words.ts";

export interface ProblemProps {
  words: Words;
  onOffer(offer: Offer): void;
  /** Called when the time to wait is over. */
  onEnd?(): void;
  /** Whether it was known before the reader did anything: then it does not interrupt them. */
  isKnown?: boolean;
}

/** A refusal in words, with a button for the way out of it, and the time left to wait. */
export function Problem({ words, onOffer, onEnd, isKnown = false }: ProblemProps) {
  const { say } = useSpeech();
  const { offer } = words;
  const { waitSec } = words;
  const endMs = useMemo(() => waitSec && performance.now() + waitSec * 1000, [words]);
  const left = useSecondsUntil(endMs, onEnd);
  return (
    <div class={isKnown ? "problem known" : "problem"} data-pm="refusal">
      <p role={isKnown ? "status" : "alert"}>
        <Said words={words} />
      </p>
      {left > 0 && (
        <p data-pm="timer" role="timer">
          {say("refusal.wait", { count: left })}
        </p>
      )}
      {offer && <WayOut offer={offer} onOffer={onOffer} />}
    </div>
  );
}

/** A refusal as text; the name of the site where the reader can go on links to that site. */
export function Said({ words }: { words: Words }) {
  const speaker = useSpeech();
  const { key, href, values: { name } = {} } = words;
  if (key === undefined || href === undefined) return <>{sayWords(speaker, words)}</>;
  const link = (
    <a href={href} target="_blank" rel="noopener">
      {name}
    </a>
  );
  return <>{speaker.compose(key, { name: link })}</>;
}

/** What the page around is asked to do for the reader. */
export function WayOut({ offer, onOffer }: { offer: Offer; onOffer(offer: Offer): void }) {
  const { say } = useSpeech();
  return (
    <button type="button" data-pm="way-out" data-action={offer} onClick={() => onOffer(offer)}>
      {say(`offer.${offer}`)}
    </button>
  );
}

/**
 * Whole seconds until an instant of `performance.now()`; 0 for one that has passed, or none.
 * @param onEnd called when the instant comes
 */
export function useSecondsUntil(atMs = 0, onEnd?: () => void): number {
  const secondsLeft = (): number => Math.max(0, Math.ceil((atMs - performance.now()) / 1000));
  const [left, setLeft] = useState(secondsLeft);
  useEffect(() => {
    setLeft(secondsLeft());
    if (atMs === 0) return;
    const timer = setInterval(() => {
      setLeft(secondsLeft());
      if (secondsLeft() > 0) return;
      clearInterval(timer);
      onEnd?.();
    }, 250);
    return () => clearInterval(timer);
  }, [atMs]);
  return left;
}

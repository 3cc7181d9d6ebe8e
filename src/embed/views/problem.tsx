import { useEffect, useState } from "preact/hooks";
import { OFFERS, type Offer, type Words } from "../words.ts";

export interface ProblemProps {
  words: Words;
  onOffer(offer: Offer): void;
  /** Called when the time to wait is over. */
  onEnd?(): void;
}

/** A refusal in words, with a button for what can be done about it, and the time left to wait. */
export function Problem({ words, onOffer, onEnd }: ProblemProps) {
  const { text, offer } = words;
  const left = useCountdown(words, onEnd);
  return (
    <div class="problem">
      <p role="alert">{text}</p>
      {left > 0 && (
        <p role="timer">
          You can go on in {left} {left === 1 ? "second" : "seconds"}.
        </p>
      )}
      {offer && (
        <button type="button" onClick={() => onOffer(offer)}>
          {OFFERS[offer].label}
        </button>
      )}
    </div>
  );
}

/** Whole seconds until the words' time is over; 0 for words without one. */
function useCountdown(words: Words, onEnd?: () => void): number {
  const [left, setLeft] = useState(words.waitSec ?? 0);
  useEffect(() => {
    const end = performance.now() + (words.waitSec ?? 0) * 1000;
    setLeft(words.waitSec ?? 0);
    if (words.waitSec === undefined) return;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      setLeft(rest);
      if (rest > 0) return;
      clearInterval(timer);
      onEnd?.();
    }, 250);
    return () => clearInterval(timer);
  }, [words]);
  return left;
}

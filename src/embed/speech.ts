import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { invariant } from "../domain/fault.ts";
import type { Speaker } from "../locales/speaker.ts";

/** The language of the frame. */
export const Speech = createContext<Speaker | undefined>(undefined);

/** Says and formats everything that a view shows. */
export function useSpeech(): Speaker {
  const speaker = useContext(Speech);
  invariant(speaker, "the frame provides its language");
  return speaker;
}

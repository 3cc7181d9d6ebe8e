import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";

/** What a view keeps while others are shown, and finds again when the reader comes back to it. */
export const Kept = createContext<Map<string, unknown>>(new Map());

/** `useState` whose value outlives the view, for as long as the reader can come back to it. */
export function useKept<Value>(name: string, initial: Value): [Value, (next: Value) => void] {
  const kept = useContext(Kept);
  const [value, setValue] = useState(() => (kept.has(name) ? (kept.get(name) as Value) : initial));
  return [
    value,
    (next) => {
      kept.set(name, next);
      setValue(next);
    },
  ];
}

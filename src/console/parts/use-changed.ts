import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const LOOK_MS = 1000;

/** Whether the figures changed since they were first shown: "now" while a person cannot have looked at them yet. */
export function useChanged(place: { readonly current: HTMLElement | null }, key: string): "now" | "before" | undefined {
  const seen = useRef({ key: "", text: "" });
  const [changed, setChanged] = useState({ key: "", isNow: false });
  useLayoutEffect(() => {
    const before = seen.current;
    const text = place.current?.textContent ?? "";
    seen.current = { key, text };
    if (key !== "" && key === before.key && text !== before.text) setChanged({ key, isNow: true });
  });
  useEffect(() => {
    if (!changed.isNow) return;
    const timer = setTimeout(() => setChanged({ ...changed, isNow: false }), LOOK_MS);
    return () => clearTimeout(timer);
  }, [changed]);
  if (key === "" || changed.key !== key) return undefined;
  return changed.isNow ? "now" : "before";
}

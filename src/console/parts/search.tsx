import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf, go } from "../router.ts";
import { usePaused } from "./use-paused.ts";

/**
 * The search of a list, or a filter by typed text; what is typed goes into the address as `name`, and the list's cursor goes.
 */
export function Search({
  path,
  query,
  name = "q",
  label = "Search",
  cursor = "cursor",
}: {
  path: string;
  query: URLSearchParams;
  name?: string;
  label?: string;
  cursor?: string;
}) {
  const stated = query.get(name) ?? "";
  const [text, setText] = useState(stated);
  const told = useRef(stated);
  // The address also changes from outside, by the back button.
  useEffect(() => {
    if (stated === told.current) return;
    told.current = stated;
    setText(stated);
  }, [stated]);
  const paused = usePaused(text);
  useEffect(() => {
    if (paused !== text || text === told.current) return;
    told.current = text;
    const others = Object.fromEntries(query);
    go(addressOf(path, { ...others, [cursor]: undefined, [name]: text }), { replace: true });
  }, [paused, text]);
  return (
    <input
      type="search"
      class={name === "q" ? "search" : "typed"}
      aria-label={label}
      placeholder={label}
      spellcheck={false}
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
}

/** A choice that is in the address as `name`; the first option is the usual one and stands for no value. A value of the address that is no option is one, too. */
export function Filter({
  label,
  name,
  options,
  path,
  query,
}: {
  label: string;
  name: string;
  options: readonly (readonly [value: string, text: string])[];
  path: string;
  query: URLSearchParams;
}) {
  const [usual = ["", ""]] = options;
  const stated = query.get(name) || usual[0];
  const isOption = options.some(([value]) => value === stated);
  return (
    <label class="filter">
      {label}
      <select
        value={stated}
        onChange={({ currentTarget }) =>
          go(addressOf(path, { ...Object.fromEntries(query), cursor: undefined, [name]: currentTarget.value }))
        }
      >
        {(isOption ? options : [...options, [stated, stated] as const]).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

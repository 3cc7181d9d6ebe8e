import { useEffect, useReducer } from "preact/hooks";
import { BASE, consolePath } from "./place.ts";

/** A place of the console: its path below `/console`, such as `/markets/mkt_1`, and its query. */
export interface Place {
  path: string;
  query: URLSearchParams;
}

const MOVED = "console:moved";

export function placeNow(): Place {
  const below = location.pathname.slice(consolePath("").length) || "/";
  return { path: below, query: new URLSearchParams(location.search) };
}

/** The address of a place; empty values of the query are left out. */
export function addressOf(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const stated = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(stated).toString();
  return consolePath(search === "" ? path : `${path}?${search}`);
}

/** Goes to an address of this console, as an entry of the browser's history. */
export function go(address: string, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event(MOVED));
}

/** The present place; the component is drawn again when it changes. */
export function usePlace(): Place {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const moved = (): void => redraw(undefined);
    addEventListener(MOVED, moved);
    addEventListener("popstate", moved);
    return () => {
      removeEventListener(MOVED, moved);
      removeEventListener("popstate", moved);
    };
  }, []);
  return placeNow();
}

/** Lets plain clicks on the console's own links change the place without loading the page anew. */
export function followLinks(event: MouseEvent): void {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const link = (event.target as Element | null)?.closest?.("a");
  if (!isPlain || event.defaultPrevented || !link || link.target !== "" || link.hasAttribute("download")) return;
  const { origin, pathname, search, hash } = new URL(link.href);
  if (origin !== location.origin || !pathname.startsWith(`${BASE}/console`) || hash !== "") return;
  event.preventDefault();
  go(pathname + search);
}

import type { OperationScope } from "../../domain/access/scopes.ts";
import { addressOf, go, placeNow } from "../router.ts";

export interface Command {
  /** The text of the button that does it. */
  text: string;
  /** The view with the button; undefined for one of every view. */
  path?: string;
  scope?: OperationScope;
  /** The key that does it, where no button does. */
  key?: string;
}

/** What a person can do without choosing a thing first. */
export const COMMANDS: readonly Command[] = [
  { text: "Create market", path: "/markets", scope: "markets" },
  { text: "Sweep", path: "/oracle", scope: "settle" },
  { text: "Freeze", path: "/configuration", scope: "config" },
  { text: "Lift the freeze", path: "/configuration", scope: "config" },
  { text: "Verify now", path: "/record", scope: "read" },
  { text: "Reconcile", path: "/record", scope: "read" },
  { text: "Keys", key: "?" },
  { text: "Sign out" },
];

/** What a person can do with the thing whose page is open: its buttons beside the name. */
export function commandsHere(): Command[] {
  const buttons = document.querySelectorAll("main .tools button:enabled:not([aria-disabled])");
  return [...buttons]
    .map(({ textContent: text }): Command => ({ text }))
    .filter(({ text }) => COMMANDS.every((each) => each.text !== text));
}

/** Presses the command's button as soon as its view shows it, unless the person does something else before. */
export function press({ text, path = placeNow().path, key }: Command): void {
  if (key !== undefined) {
    document.dispatchEvent(new KeyboardEvent("keydown", { key }));
    return;
  }
  if (placeNow().path !== path) go(addressOf(path));
  const observer = new MutationObserver(() => {
    const button = [...document.querySelectorAll<HTMLElement>("button:enabled")].find(
      ({ textContent }) => textContent === text,
    );
    if (!button || document.querySelector("dialog[open]")) return;
    observer.disconnect();
    button.focus();
    button.click();
  });
  // The palette's end is the first change.
  observer.observe(document.body, { childList: true, subtree: true });
  for (const name of ["keydown", "pointerdown", "popstate"])
    addEventListener(name, () => observer.disconnect(), { once: true, capture: true });
}

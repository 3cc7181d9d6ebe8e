import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { addressOf, go } from "../router.ts";
import { VIEWS } from "../views.ts";
import { Palette } from "./palette.tsx";

/** The second key of a pair such as `g m` comes within this time. */
const PAIR_MS = 1500;

/** The keyboard of the whole page: its dialogs "Keys" and "Commands", the search, and the views. */
export function Keys() {
  const [open, setOpen] = useState<"keys" | "commands">();
  useEffect(() => {
    let pairUntilMs = 0;
    const press = (event: KeyboardEvent): void => {
      const { key } = event;
      if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") {
        event.preventDefault();
        setOpen("commands");
        return;
      }
      const isTyping =
        event.target instanceof Element && event.target.closest("input, textarea, select, dialog") !== null;
      if (event.defaultPrevented || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const isSecond = performance.now() < pairUntilMs;
      pairUntilMs = 0;
      if (isSecond) {
        const view = VIEWS.find((each) => each.key === key);
        if (view) go(addressOf(view.path));
      } else if (key === "g") pairUntilMs = performance.now() + PAIR_MS;
      else if (key === "?") setOpen("keys");
      else if (key === "/") {
        const search = document.querySelector<HTMLInputElement>('main input[type="search"]');
        if (!search) return;
        event.preventDefault();
        search.focus();
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  const close = (): void => setOpen(undefined);
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen("commands")}>
        Commands <kbd>Ctrl K</kbd>
      </button>
      {open === "commands" && <Palette onClose={close} />}
      {open === "keys" && (
        <Dialog name="Keys" onClose={close}>
          <dl class="keys">
            {KEYS.map(([keys, does]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <p class="ways">
            <button type="button" onClick={close}>
              Close
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["?", "Show the keys"],
  ["/", "Search in the view"],
  ["Ctrl K", "Find a view, a command, a market or a trader"],
  ["Escape", "Close a dialog"],
  ...VIEWS.map(({ key, name }) => [`g ${key}`, `Go to ${name}`] as const),
];

import { useEffect, useId, useState } from "preact/hooks";
import { useDesk } from "../desk.ts";
import { Dialog } from "../parts/dialog.tsx";
import { traderAddress } from "../parts/links.tsx";
import { addressOf, go } from "../router.ts";
import { mayUse } from "../session.ts";
import { VIEWS } from "../views.ts";
import { COMMANDS, commandsHere, press } from "./commands.ts";

interface Choice {
  id: string;
  text: string;
  kind: "View" | "Command" | "Market" | "Trader";
  take(): void;
}

const place = (kind: Choice["kind"], address: string, text: string): Choice => ({
  id: address,
  text,
  kind,
  take: () => go(address),
});

const PAUSE_MS = 150;
const MOST_FOUND = 5;

/** Finds a view, a command, a market or a trader by what is typed, and goes there. */
export function Palette({ onClose }: { onClose(): void }) {
  const { apiFor, session } = useDesk();
  const [text, setText] = useState("");
  const [things, setThings] = useState<readonly Choice[]>([]);
  const [chosen, setChosen] = useState(0);
  const list = useId();
  useEffect(() => {
    setThings([]);
    const q = text.trim();
    if (q === "") return;
    const left = new AbortController();
    const api = apiFor({ signal: left.signal });
    const timer = setTimeout(async () => {
      const [markets, users] = await Promise.all([
        api.listMarkets({ q, status: "all", limit: MOST_FOUND }).catch(() => undefined),
        api.listUsers({ q, limit: MOST_FOUND }).catch(() => undefined),
      ]);
      if (left.signal.aborted) return;
      setThings([
        ...(markets?.items ?? []).map(({ id, question }) =>
          place("Market", addressOf(`/markets/${encodeURIComponent(id)}`), question),
        ),
        ...(users?.items ?? []).map(({ userId }) => place("Trader", traderAddress(userId), userId)),
      ]);
    }, PAUSE_MS);
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [text, apiFor]);

  const wanted = text.trim().toLowerCase();
  const isMeant = (name: string): boolean => name.toLowerCase().includes(wanted);
  const views = VIEWS.filter(({ name }) => isMeant(name)).map(({ name, path }) => place("View", addressOf(path), name));
  const commands = [...COMMANDS, ...commandsHere()]
    .filter(({ text: name, scope }) => isMeant(name) && (!scope || mayUse(session, scope)))
    .map((each): Choice => ({ id: each.text, text: each.text, kind: "Command", take: () => press(each) }));
  const choices = [...views, ...commands, ...things];
  const index = Math.min(chosen, choices.length - 1);
  const take = (choice: Choice | undefined): void => {
    if (!choice) return;
    onClose();
    choice.take();
  };
  const move = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (event.key === "Enter") take(choices[index]);
    else if (step !== undefined) setChosen((index + step + choices.length) % Math.max(choices.length, 1));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog name="Commands" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={choices.length > 0 ? `${list}-${index}` : undefined}
        autoComplete="off"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={move}
      />
      <div role="listbox" id={list} aria-label="Found">
        {choices.map((choice, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox
          <div
            key={choice.id}
            id={`${list}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === index}
            onClick={() => take(choice)}
          >
            <span dir="auto">{choice.text}</span> <small>{choice.kind}</small>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

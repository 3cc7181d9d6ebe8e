import { useEffect, useId, useState } from "preact/hooks";
import { useDesk } from "./desk.ts";
import { Dialog } from "./parts/dialog.tsx";
import { addressOf, go } from "./router.ts";
import { VIEWS } from "./views.ts";

interface Choice {
  address: string;
  text: string;
  kind: "View" | "Market" | "Trader";
}

const PAUSE_MS = 150;
const MOST_FOUND = 5;

/** Finds a view, a market or a trader by what is typed, and goes there. */
export function Palette({ onClose }: { onClose(): void }) {
  const { api } = useDesk();
  const [text, setText] = useState("");
  const [things, setThings] = useState<readonly Choice[]>([]);
  const [chosen, setChosen] = useState(0);
  const list = useId();
  useEffect(() => {
    setThings([]);
    const q = text.trim();
    if (q === "") return;
    let isOver = false;
    const timer = setTimeout(async () => {
      const [markets, users] = await Promise.all([
        api.listMarkets({ q, status: "all", limit: MOST_FOUND }).catch(() => undefined),
        api.listUsers({ q, limit: MOST_FOUND }).catch(() => undefined),
      ]);
      if (isOver) return;
      setThings([
        ...(markets?.items ?? []).map(({ id, question }) => ({
          address: addressOf(`/markets/${encodeURIComponent(id)}`),
          text: question,
          kind: "Market" as const,
        })),
        ...(users?.items ?? []).map(({ userId }) => ({
          address: addressOf(`/traders/${encodeURIComponent(userId)}`),
          text: userId,
          kind: "Trader" as const,
        })),
      ]);
    }, PAUSE_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text, api]);

  const wanted = text.trim().toLowerCase();
  const views = VIEWS.filter(({ name }) => name.toLowerCase().includes(wanted)).map(
    ({ name, path }): Choice => ({ address: addressOf(path), text: name, kind: "View" }),
  );
  const choices = [...views, ...things];
  const index = Math.min(chosen, choices.length - 1);
  const take = (choice: Choice | undefined): void => {
    if (!choice) return;
    onClose();
    go(choice.address);
  };
  const press = (event: KeyboardEvent): void => {
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
        onKeyDown={press}
      />
      <div role="listbox" id={list} aria-label="Found">
        {choices.map((choice, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox
          <div
            key={choice.address}
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

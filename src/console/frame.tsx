import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isPendingProposal } from "../domain/policy/proposal.ts";
import { type ApiOptions, consoleApi, type OnEnd } from "./api.ts";
import { type Desk, DeskContext, type Notice } from "./desk.ts";
import { keepFocus } from "./keep-focus.ts";
import { Keys } from "./keyboard/keys.tsx";
import { Changes } from "./live/changes.ts";
import { Sentence } from "./parts/time.tsx";
import { addressOf, followLinks, usePlace } from "./router.ts";
import { type Session, signOut } from "./session.ts";
import { NotFound } from "./views/not-found.tsx";
import { VIEWS, viewAt } from "./views.ts";

/** The page of someone who is signed in: the navigation, and one view. */
export function Frame({ session, onEnd }: { session: Session; onEnd: OnEnd }) {
  const [notice, setNotice] = useState<Notice>();
  const asked = useRef<Desk["ask"]>(() => {});
  const desk = useMemo((): Desk => {
    const apiFor = (options: ApiOptions) => consoleApi(session, onEnd, options);
    const changes = new Changes(apiFor({ isBackground: true }));
    const ask: Desk["ask"] = (dialog) => asked.current(dialog);
    return { session, api: apiFor({}), apiFor, changes, tell: setNotice, ask };
  }, [session]);
  useEffect(() => () => desk.changes.end(), [desk]);
  useEffect(() => {
    document.addEventListener("click", followLinks);
    return () => document.removeEventListener("click", followLinks);
  }, []);
  const { path, query } = usePlace();
  const found = viewAt({ path });
  const main = useRef<HTMLElement>(null);
  useEffect(() => (main.current ? keepFocus(main.current) : undefined), []);
  useArrival(path, () => {
    setNotice(undefined);
    main.current?.querySelector("h1")?.focus({ preventScroll: true });
  });
  const links = useRef<HTMLUListElement>(null);
  // In a narrow window the links are a row that scrolls.
  useEffect(() => {
    const { current: list } = links;
    const here = list?.querySelector<HTMLElement>("[aria-current]");
    if (list && here) list.scrollLeft = here.offsetLeft - (list.clientWidth - here.offsetWidth) / 2;
  }, [found?.entry.name]);
  const View = found?.view;
  return (
    <DeskContext.Provider value={desk}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <strong>{session.tenant}</strong>
        <span class="soft">{session.actor}</span>
        <Keys />
        <button type="button" onClick={() => void signOut(session).finally(() => onEnd())}>
          Sign out
        </button>
      </header>
      <nav aria-label="Views">
        <ul ref={links}>
          {VIEWS.map(({ name, path: to }) => (
            <li key={name}>
              <a href={addressOf(to)} aria-current={found?.entry.name === name ? "page" : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <p role="status" class="notice">
          {notice && (
            <>
              <Sentence of={notice.text} /> {notice.link && <>{notice.link} </>}
              {isPendingProposal(Object(notice.result)) && (
                <>
                  See <a href={addressOf("/")}>what waits</a>.{" "}
                </>
              )}
              {notice.seq && <a href={addressOf(`/record/${notice.seq}`)}>Entry {notice.seq}</a>}
            </>
          )}
        </p>
        {View ? <View key={path} query={query} id={found.id} /> : <NotFound />}
      </main>
      <Asked by={asked} />
    </DeskContext.Provider>
  );
}

/** The dialog that a view asks for. */
function Asked({ by }: { by: { current: Desk["ask"] } }) {
  const [dialog, setDialog] = useState<ComponentChildren>();
  by.current = setDialog;
  return <>{dialog}</>;
}

/** Calls after each move to another path, but not for the first one, where the browser starts at the top itself. */
function useArrival(path: string, arrived: () => void): void {
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    scrollTo(0, 0);
    arrived();
  }, [path]);
}

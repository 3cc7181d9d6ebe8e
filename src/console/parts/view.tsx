import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useDesk } from "../desk.ts";
import { zonedInstant } from "../format.ts";
import type { Live } from "../live/use-live.ts";
import { Terminal } from "./terminal.tsx";
import { Sentence, Time } from "./time.tsx";

/**
 * The frame of every view: its name, the age of its figures, what it shows, and the same in the terminal.
 * @param children drawn once there is a value
 */
export function View<Value>({
  name,
  live,
  line,
  tools,
  children,
}: {
  name: string;
  live: Live<Value>;
  /** The command line that shows the same. */
  line: string;
  /** Search, filters and buttons beside the name. */
  tools?: ComponentChildren;
  children(value: Value): ComponentChildren;
}) {
  const heading = useHeading(name);
  const { tenant } = useDesk().session;
  return (
    <>
      {live.readAtMs !== undefined && (
        <p class="printed">
          {tenant} · {zonedInstant(live.readAtMs)}
        </p>
      )}
      <header class="head">
        <h1 ref={heading} tabIndex={-1} dir="auto">
          {name}
        </h1>
        <Age live={live} />
      </header>
      {tools && <div class="tools">{tools}</div>}
      <Figures live={live}>{children}</Figures>
      <footer class="same">
        <span>The same in the terminal</span>
        <Terminal line={line} />
      </footer>
    </>
  );
}

/** A part of a view with a reading of its own, so that a slow one holds nothing else up. */
export function Section<Value>({
  title,
  id,
  live,
  isAsked = false,
  children,
}: {
  title: string;
  /** For links to it. */
  id?: string;
  live: Live<Value>;
  /** A person asked for it by a link elsewhere on the page, and reads on here. */
  isAsked?: boolean;
  children(value: Value): ComponentChildren;
}) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => void (isAsked && place.current?.focus()), []);
  return (
    <section ref={place} tabIndex={isAsked ? -1 : undefined} aria-label={title} id={id}>
      <h2>{title}</h2>
      <Figures live={live}>{children}</Figures>
    </section>
  );
}

function Figures<Value>({ live, children }: { live: Live<Value>; children(value: Value): ComponentChildren }) {
  return (
    <>
      {live.refused && <Problem live={live} />}
      <div
        class="figures"
        data-stale={live.isStale ? "true" : undefined}
        aria-busy={live.value === undefined && !live.refused}
      >
        {live.value === undefined ? !live.refused && <p class="empty">Reading …</p> : children(live.value)}
      </div>
    </>
  );
}

/** Names the page, and moves the focus to the name when a view is opened by a link. */
export function useHeading(name: string) {
  const { session } = useDesk();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `pmctl · ${session.tenant} · ${name}`;
  }, [session.tenant, name]);
  return heading;
}

/** As of when the figures are. It is not read aloud at every refresh, so it is no live region. */
function Age<Value>({ live }: { live: Live<Value> }) {
  return (
    <p role="status" aria-live="off" class="age">
      {live.isLost && <strong>Connection lost. </strong>}
      As of {live.readAtMs === undefined ? "…" : <Time at={live.readAtMs} isToday />}
    </p>
  );
}

function Problem<Value>({ live }: { live: Live<Value> }) {
  const { refused } = live;
  if (!refused) return null;
  return (
    <p class="problem" role="alert">
      <Sentence of={refused.message} />
      {refused.requestId && <small> (request {refused.requestId})</small>}{" "}
      <button type="button" onClick={() => live.renew()}>
        Try again
      </button>
    </p>
  );
}

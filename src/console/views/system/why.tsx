import { useEffect, useRef, useState } from "preact/hooks";
import { useDesk } from "../../desk.ts";
import { useAnswer } from "../../live/use-answer.ts";
import { Facts } from "../../parts/facts.tsx";
import { MarketLink, TraderLink } from "../../parts/links.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { addressOf, go } from "../../router.ts";
import { pmctl } from "../../terminal-line.ts";

/** Explains the refused request in the address, or another one by its id, as the refused caller has it from `Request-Id`. */
export function Why({ path, query }: { path: string; query: URLSearchParams }) {
  const { tenant } = useDesk().session;
  const asked = query.get("why") ?? "";
  const [requestId, setRequestId] = useState(asked);
  const id = requestId.trim();
  const { found, isAsking, problem, ask } = useAnswer((api) => api.getRefusal({ requestId: asked }));
  const answer = useRef<HTMLElement>(null);
  useEffect(() => {
    setRequestId(asked);
    if (asked !== "") ask();
  }, [asked]);
  // Someone who asks from the table below reads on at the answer.
  useEffect(() => answer.current?.focus(), [found]);
  return (
    <>
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          if (id === asked) ask();
          else go(addressOf(path, { ...Object.fromEntries(query), why: id }));
        }}
      >
        <label class="filter">
          Request-Id of the answer
          <input
            value={requestId}
            spellcheck={false}
            onInput={({ currentTarget }) => setRequestId(currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isAsking || id === ""}>
          Why
        </button>
      </form>
      {problem && <p role="alert">{problem}</p>}
      {found && found.requestId === asked && (
        <section ref={answer} tabIndex={-1} aria-label="Refused request">
          <p>
            <bdi>
              <Sentence of={found.error} />
            </bdi>
          </p>
          <Facts
            of={[
              ["Code", found.code],
              ["Status", String(found.status)],
              ["Operation", found.operation],
              ["Who", <bdi key="who">{found.actor}</bdi>],
              ["When", <Time key="when" at={found.ts} />],
              ["User", found.userId && <TraderLink id={found.userId} />],
              ["Market", found.marketId && <MarketLink id={found.marketId} />],
              ...Object.entries(found.detail).map(
                ([name, value]) =>
                  [
                    name,
                    <bdi key={name}>
                      <Sentence of={String(value)} />
                    </bdi>,
                  ] as const,
              ),
            ]}
          />
        </section>
      )}
      {id !== "" && <Terminal line={pmctl(tenant, "why", id)} />}
    </>
  );
}

import { useState } from "preact/hooks";
import { useDesk } from "../../desk.ts";
import { useAnswer } from "../../live/use-answer.ts";
import { Facts } from "../../parts/facts.tsx";
import { MarketLink, TraderLink } from "../../parts/links.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { pmctl } from "../../terminal-line.ts";

/** Explains a refused request by its id, as the refused caller has it from `Request-Id`. */
export function Why() {
  const { tenant } = useDesk().session;
  const [requestId, setRequestId] = useState("");
  const id = requestId.trim();
  const { found, isAsking, problem, ask } = useAnswer((api) => api.getRefusal({ requestId: id }));
  return (
    <>
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          if (id !== "") ask();
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
      {found && (
        <section aria-label="Refused request">
          <p>
            <bdi>{found.error}</bdi>
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
                ([name, value]) => [name, <bdi key={name}>{String(value)}</bdi>] as const,
              ),
            ]}
          />
        </section>
      )}
      <Terminal line={pmctl(tenant, "why", id === "" ? "<request-id>" : id)} />
    </>
  );
}

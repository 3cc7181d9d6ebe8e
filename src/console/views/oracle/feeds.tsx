import type { WireResult } from "../../../contract/operations.ts";
import { useDesk } from "../../desk.ts";
import { useAnswer } from "../../live/use-answer.ts";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { addressOf } from "../../router.ts";
import { mayUse } from "../../session.ts";
import { pmctl } from "../../terminal-line.ts";

type Check = WireResult<"checkFeeds">[number];

/** Every feed, and what its sources say when a person asks. */
export function Feeds({ of: feeds }: { of: WireResult<"listFeeds"> }) {
  const { session } = useDesk();
  const { found = [], isAsking, problem, ask } = useAnswer((api) => api.checkFeeds({}));
  const lacking = mayUse(session, "settle") ? undefined : "Your key lacks the scope settle.";
  const checkOf = ({ feed }: { feed: string }): Check | undefined => found.find((each) => each.feed === feed);
  return (
    <>
      {feeds.length > 0 && (
        <p class="tools">
          <button type="button" disabled={isAsking || lacking !== undefined} title={lacking} onClick={ask}>
            Check now
          </button>
          <span role="status">{isAsking && "Asking every source …"}</span>
        </p>
      )}
      {problem && <p role="alert">{problem}</p>}
      <Table
        name="Feeds"
        rows={feeds}
        id={({ feed }) => feed}
        empty="The tenant file has no feed. Add one below oracle, or settle markets by hand."
        columns={[
          {
            title: "Feed",
            cell: ({ feed }) => (
              <a href={addressOf("/oracle", { feed })} dir="auto">
                {feed}
              </a>
            ),
          },
          {
            title: "Sources",
            cell: ({ sources }) => <bdi title={sources.join(", ")}>{sources.map(shortened).join(", ")}</bdi>,
          },
          { title: "Unusable", cell: ({ lacking: unusable }) => <bdi>{unusable.join(", ") || "—"}</bdi> },
          { title: "Quorum", isNumber: true, cell: ({ quorum }) => String(quorum) },
          { title: "Price", isNumber: true, cell: (feed) => checkOf(feed)?.price ?? "—" },
          { title: "Spread", isNumber: true, cell: (feed) => checkOf(feed)?.spread ?? "—" },
          { title: "Age", isNumber: true, cell: (feed) => secondsOf(checkOf(feed)?.ageSec) },
          { title: "Would settle now", cell: (feed) => <Verdict of={checkOf(feed)} /> },
        ]}
      />
      <Terminal line={pmctl(session.tenant, "oracle", "check")} />
    </>
  );
}

/** A source with the beginning of its id, where the id is a long hexadecimal number. */
export const shortened = (source: string): string => source.replace(/\b([0-9a-f]{8})[0-9a-f]{16,}\b/g, "$1…");

const secondsOf = (seconds: number | null | undefined): string => (seconds == null ? "—" : `${seconds} s`);

function Verdict({ of: check }: { of: Check | undefined }) {
  if (check === undefined) return <span>not asked</span>;
  const { verdict, detail } = check;
  return <bdi class={verdict === "ok" ? "good" : "bad"}>{verdict === "ok" ? "yes" : `no: ${detail}`}</bdi>;
}

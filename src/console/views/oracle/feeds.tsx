import { useState } from "preact/hooks";
import type { WireResult } from "../../../contract/operations.ts";
import { parseReference } from "../../../domain/reference.ts";
import { counted } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { price } from "../../format.ts";
import { useAnswer } from "../../live/use-answer.ts";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Sentence } from "../../parts/time.tsx";
import { addressOf } from "../../router.ts";
import { mayUse } from "../../session.ts";
import { pmctl } from "../../terminal-line.ts";

type Feed = WireResult<"listFeeds">[number];
type Check = WireResult<"checkFeeds">[number];

/** Of one request. */
const MOST_CHECKED = 200;

/** The feed of a rule; undefined for one that names none. */
export function feedOf(rule: string): string | undefined {
  const parsed = parseReference(rule);
  return parsed.kind === "reference" ? parsed.reference.feed : parsed.kind === "key" ? parsed.feed : undefined;
}

/** A feed, with the way to its samples. */
export function FeedLink({ of: feed }: { of: string | undefined }) {
  if (feed === undefined) return <>—</>;
  return (
    <a href={addressOf("/oracle", { feed })} dir="auto">
      {feed}
    </a>
  );
}

/**
 * The feeds of the tenant file and those in use, then the others, and what their sources say when a person asks.
 * @param rules what decides markets
 * @param users says of whom no rule names the others, such as "no open market"
 */
export function Feeds({ of: feeds, rules, users }: { of: readonly Feed[]; rules: readonly string[]; users: string }) {
  const { session } = useDesk();
  const used = new Set(rules.map(feedOf));
  const { first = [], others = [] } = Object.groupBy(feeds, ({ feed, own }) =>
    own || used.has(feed) ? "first" : "others",
  );
  const [isOpen, setOpen] = useState(false);
  const asked = isOpen ? feeds : first;
  const {
    found = [],
    isAsking,
    problem,
    ask,
  } = useAnswer(async (api) =>
    // None means all.
    api.checkFeeds({ feeds: isOpen ? [] : asked.map(({ feed }) => feed).slice(0, MOST_CHECKED) }),
  );
  const lacking = mayUse(session, "settle") ? undefined : "Your key lacks the scope settle.";
  return (
    <>
      {asked.length > 0 && (
        <p class="tools">
          <button type="button" disabled={isAsking || lacking !== undefined} title={lacking} onClick={ask}>
            Check now
          </button>
          <span role="status">{isAsking && "Asking every source …"}</span>
        </p>
      )}
      {problem && <p role="alert">{problem}</p>}
      <List
        name="Feeds"
        of={first}
        checks={found}
        empty={`The tenant file states no feed, and ${users} names one. Add one below oracle, or settle markets by hand.`}
      />
      {others.length > 0 && (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>
            {counted(others.length, "built-in feed")} that {users} names
          </summary>
          <List name="Built-in feeds" of={others} checks={found} empty="" />
        </details>
      )}
      <Terminal line={pmctl(session.tenant, "oracle", "check")} />
    </>
  );
}

function List({
  name,
  of: feeds,
  checks,
  empty,
}: {
  name: string;
  of: readonly Feed[];
  checks: readonly Check[];
  empty: string;
}) {
  const checkOf = ({ feed }: Feed): Check | undefined => checks.find((each) => each.feed === feed);
  return (
    <Table
      name={name}
      rows={feeds}
      id={({ feed }) => feed}
      empty={empty}
      columns={[
        { title: "Feed", cell: ({ feed }) => <FeedLink of={feed} /> },
        { title: "Stated", cell: ({ own }) => (own ? "in the tenant file" : "built in") },
        {
          title: "Sources",
          cell: ({ sources }) => <bdi title={sources.join(", ")}>{sources.map(shortened).join(", ")}</bdi>,
        },
        {
          title: "Unusable",
          cell: ({ lacking: unusable }) => (unusable.length > 0 ? <bdi>{unusable.join(", ")}</bdi> : "—"),
        },
        { title: "Quorum", isNumber: true, cell: ({ quorum }) => String(quorum) },
        { title: "Price", isNumber: true, cell: (feed) => priceOr(checkOf(feed)?.price) },
        { title: "Spread", isNumber: true, cell: (feed) => priceOr(checkOf(feed)?.spread) },
        { title: "Age", isNumber: true, cell: (feed) => secondsOf(checkOf(feed)?.ageSec) },
        { title: "Would settle now", cell: (feed) => <Verdict of={checkOf(feed)} /> },
      ]}
    />
  );
}

/** A source with the beginning of its id, where the id is a long hexadecimal number. */
export const shortened = (source: string): string => source.replace(/\b([0-9a-f]{8})[0-9a-f]{16,}\b/g, "$1…");

/** A price or a distance of prices, if there is one. */
export const priceOr = (text: string | null | undefined): string => (text == null ? "—" : price(text));

const secondsOf = (seconds: number | null | undefined): string => (seconds == null ? "—" : `${seconds} s`);

function Verdict({ of: check }: { of: Check | undefined }) {
  if (check === undefined) return <span>not asked</span>;
  const { verdict, detail } = check;
  return (
    <bdi class={verdict === "ok" ? "good" : "bad"}>
      <Sentence of={verdict === "ok" ? "yes" : `no: ${detail}`} />
    </bdi>
  );
}

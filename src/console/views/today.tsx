import { useState } from "preact/hooks";
import { compareItems, type InboxItem, type Waiting } from "../../client/inbox/item.ts";
import { type Subjects, subjectsOf } from "../../client/inbox/proposed.ts";
import { QUESTIONS, type Question } from "../../client/inbox/questions.ts";
import { item } from "../../client/inbox/waiting.ts";
import { everyPage } from "../../client/pages.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { counted } from "../../domain/text.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { useDesk } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { MarketLink, traderAddress } from "../parts/links.tsx";
import { Table } from "../parts/table.tsx";
import { Terminal } from "../parts/terminal.tsx";
import { Sentence, Time } from "../parts/time.tsx";
import { Usd } from "../parts/usd.tsx";
import { View } from "../parts/view.tsx";
import { Refused } from "../refused.ts";
import { addressOf } from "../router.ts";
import { changeOf } from "./configuration/compared.ts";
import { Decide } from "./funds/withdrawals.tsx";
import { Held } from "./oracle/held.tsx";
import { Decisions } from "./proposals/decisions.tsx";
import type { Proposal } from "./proposals/proposed.tsx";

const WITHIN_MS = 14 * DAY_MS;

const { chain, ledger, ...QUICK } = QUESTIONS;

interface Answers {
  items: readonly Waiting[];
  /** Questions that could not be asked, with the reasons. */
  unasked: readonly string[];
}

interface Day extends Answers {
  proposals: readonly Proposal[];
  subjects: Subjects;
}

/** Everything that waits for a person, most urgent first. */
export function TodayView() {
  const { session } = useDesk();
  const { tenant } = session;
  const live = useLive((api) => readDay(api, tenant), "");
  // A server that began just now checks a long log for minutes, which the rest does not wait for.
  const checks = useLive(
    (api) => readAnswers([chain, ledger], { api, config: { overrides: [], keys: [] } }, tenant),
    "",
  );
  const { value: checked, refused } = checks;
  return (
    <View name="Today" live={live} line={`pmctl inbox ${tenant}`}>
      {({ proposals, subjects, ...day }) => (
        <>
          {!checked && (
            <p class="soft">
              The audit log and the ledger: <Sentence of={refused?.message ?? "they are still being checked"} />.
            </p>
          )}
          <Waits
            items={[...day.items, ...(checked?.items ?? [])].map((each) => ({ tenant, ...each })).sort(compareItems)}
            unasked={[...day.unasked, ...(checked?.unasked ?? [])]}
            proposals={proposals}
            subjects={subjects}
          />
        </>
      )}
    </View>
  );
}

function Waits({ items, unasked, proposals, subjects }: Omit<Day, "items"> & { items: readonly InboxItem[] }) {
  return (
    <>
      {unasked.length > 0 && (
        <p class="problem">
          Not looked at: <Sentence of={unasked.join("; ")} />
        </p>
      )}
      {items.length > 0 && <p>{counted(items.length, "item")}, most urgent first.</p>}
      <Table
        name="Waiting"
        rows={items}
        id={({ id }) => id}
        kind={({ kind }) => kind}
        empty="Nothing waits for a person. Look at Overview for how the markets do."
        columns={[
          {
            title: "What",
            cell: ({ title, severity, commands, ...each }) => (
              <>
                {severity !== "info" && <strong class={severity}>{severity === "warn" ? "Waits" : "Urgent"} </strong>}
                <a href={placeOf(each, proposals, subjects)} dir="ltr">
                  <Sentence of={title} />
                </a>
                {each.kind === "market.held" && <Evidence id={each.id} />}
                {/* What shows the item comes before what decides it. */}
                <Terminal line={commands.find((line) => line.includes(" show ")) ?? commands[0] ?? ""} />
              </>
            ),
          },
          { title: "Amount", isNumber: true, cell: ({ amountUsd }) => <Usd of={amountUsd} /> },
          { title: "Due", cell: ({ dueAt }) => <Time at={dueAt} /> },
          { title: "Since", cell: ({ since }) => <Time at={since} /> },
          {
            title: "Decide",
            cell: ({ id, kind }) =>
              kind === "market.closed" || kind === "market.held" ? (
                <MarketLink id={id} question="Settle or void it on its page" />
              ) : (
                <Buttons of={id} proposals={proposals} subjects={subjects} />
              ),
          },
        ]}
      />
    </>
  );
}

function Buttons({ of: id, proposals, subjects }: { of: string } & Pick<Day, "proposals" | "subjects">) {
  const withdrawal = subjects.withdrawals.get(id);
  if (withdrawal) return <Decide of={{ ...withdrawal, withdrawalId: id }} />;
  const proposal = proposals.find(({ proposalId }) => proposalId === id);
  return proposal ? <Decisions of={proposal} subjects={subjects} /> : null;
}

/** Why a market is held, read when a person asks. */
function Evidence({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Why, and the last prices</summary>
      {isOpen && <Held id={id} />}
    </details>
  );
}

async function readDay(api: Api, tenant: string): Promise<Day> {
  const config = await api.getConfig({});
  // The questions ask for the same proposals and withdrawals at the same moment, which is one request for each.
  const pending = async () => {
    const [proposals, withdrawals] = await Promise.all([
      everyPage((page) => api.listProposals({ status: "pending", ...page })),
      everyPage((page) => api.listWithdrawals({ status: "pending", ...page })),
    ]);
    const { questions } = await subjectsOf(
      proposals.filter(({ kind }) => kind !== "withdraw"),
      api,
    );
    const subjects = { questions, withdrawals: new Map(withdrawals.map((each) => [each.withdrawalId, each])) };
    return { proposals, subjects };
  };
  const [{ items, unasked }, { proposals, subjects }] = await Promise.all([
    readAnswers(Object.values(QUICK), { api, config }, tenant),
    pending(),
  ]);
  return { proposals, subjects, items: [...items, ...waitingDrift(tenant, config)], unasked };
}

/** Asks every question that the key may ask; one that fails does not hide the others. */
async function readAnswers(
  questions: readonly Question[],
  live: Parameters<Question["ask"]>[0],
  tenant: string,
): Promise<Answers> {
  const now = wallClockMs();
  const scope = { tenant, now, until: now + WITHIN_MS };
  const answers = await Promise.all(
    questions.map(async ({ kinds, ask }) => {
      try {
        return await ask(live, scope);
      } catch (error) {
        // Without an answer to any of them the view keeps what it showed.
        if (error instanceof Refused && error.code !== "SCOPE_REQUIRED") throw error;
        return `${kinds.join(", ")}: ${error instanceof Error ? error.message : "unexpected failure"}`;
      }
    }),
  );
  return {
    items: answers.flatMap((each) => (typeof each === "string" ? [] : each)),
    unasked: answers.filter((each) => typeof each === "string"),
  };
}

/** Fields of the policy whose live value differs from what the last apply stated. */
function waitingDrift(tenant: string, { policy, document, changes }: WireResult<"getConfig">) {
  const stated = (document?.policy ?? {}) as Readonly<Record<string, unknown>>;
  const live = policy as Readonly<Record<string, unknown>>;
  return Object.entries(stated)
    .filter(([field, value]) => field in live && canonicalJson(live[field] as never) !== canonicalJson(value as never))
    .map(([field, value]) => {
      const by = changeOf(changes, field);
      const who = by ? `, by ${by.actor}` : "";
      const title = `policy.${field} is ${canonicalJson(live[field] as never)} live and ${canonicalJson(value as never)} in the last apply${who}`;
      return item("drift", "warn", [`policy.${field}`, title], {
        since: by?.ts ?? null,
        commands: [`pmctl drift ${tenant}`],
      });
    });
}

/** Where an item is decided. */
function placeOf(
  { kind, id }: Pick<InboxItem, "kind" | "id">,
  proposals: readonly Proposal[],
  { withdrawals }: Subjects,
): string {
  const market = (one: string): string => addressOf(`/markets/${encodeURIComponent(one)}`);
  const funds = (one: string): string => addressOf("/funds", { status: "pending", user: withdrawals.get(one)?.userId });
  switch (kind) {
    case "market.closed":
    case "market.held":
      return market(id);
    case "withdrawal":
      return funds(id);
    case "kyc":
      return traderAddress(id);
    case "receiver":
      return addressOf("/webhooks", { receiver: id });
    case "chain":
    case "ledger":
      return addressOf("/record");
    case "market.proposed":
    case "proposal": {
      const { kind: work, marketId, request } = proposals.find(({ proposalId }) => proposalId === id) ?? {};
      if (marketId) return market(marketId);
      if (work === "withdraw") return funds(String(request?.id));
      if (work === "credit") return traderAddress(String(request?.id));
      return addressOf(work === "key" ? "/system" : "/configuration");
    }
    case "drift":
    case "override":
    case "freeze":
      return addressOf("/configuration");
    default:
      return addressOf("/system");
  }
}

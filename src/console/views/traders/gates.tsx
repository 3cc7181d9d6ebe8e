import type { WireResult } from "../../../contract/operations.ts";
import { Facts } from "../../parts/facts.tsx";
import { Table } from "../../parts/table.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { addressOf } from "../../router.ts";

type Eligibility = WireResult<"getUserEligibility">;
type Verdict = Eligibility["sell"];

const HELP: Record<NonNullable<Verdict["reasons"][number]["action"]>, string> = {
  verify: "The identity check helps.",
  deposit: "A deposit helps.",
  suitability: "The assessment helps.",
  contact: "An operator can help.",
};

/** What the trader may do now, everything that stands against it and until when, and the limits. */
export function Gates({ of: { trade, sell, deposit, withdraw } }: { of: Eligibility }) {
  const gates: (readonly [name: string, verdict: Verdict])[] = [
    ["Buy", trade],
    ["Sell", sell],
    ["Deposit", deposit],
    ["Withdraw", withdraw],
  ];
  const { maxTradeUsd, maxExposureUsd, remainingUsd } = trade.limits;
  return (
    <section aria-label="Gates">
      <h2>Gates</h2>
      <Table
        name="Gates"
        rows={gates}
        id={([name]) => name.toLowerCase()}
        empty="The server checks no gate."
        columns={[
          { title: "Action", cell: ([name]) => name },
          {
            title: "Now",
            cell: ([, { allowed }]) =>
              allowed ? <span class="good">Allowed</span> : <strong class="bad">Not allowed</strong>,
          },
          { title: "Why not, and until when", cell: ([, { reasons }]) => <Reasons of={reasons} /> },
        ]}
      />
      <Facts
        of={[
          ["Limit per trade", <Usd key="trade" of={maxTradeUsd} />],
          ["Cap on open positions", <Usd key="cap" of={maxExposureUsd} />],
          ["Left of the cap", <Usd key="left" of={remainingUsd} />],
        ]}
      />
      <p class="soft">
        The policy sets the limits of all traders. <a href={addressOf("/configuration")}>Change it in Configuration</a>
      </p>
    </section>
  );
}

function Reasons({ of }: { of: Verdict["reasons"] }) {
  if (of.length === 0) return <>—</>;
  return (
    <ul>
      {of.map(({ code, message, until, action }) => (
        <li key={code}>
          <bdi>
            <Sentence of={message} />
          </bdi>{" "}
          <small>{code}</small>
          {until === null ? (
            ""
          ) : (
            <>
              {" "}
              until <Time at={until} />.
            </>
          )}{" "}
          {action && HELP[action]}
        </li>
      ))}
    </ul>
  );
}

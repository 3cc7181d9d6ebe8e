import type { Api } from "../../../contract/operations.ts";
import { useDesk } from "../../desk.ts";
import { ended } from "../../format.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { option, pmctl } from "../../terminal-line.ts";
import { correction, settlement, voiding } from "./ends.tsx";
import type { Market } from "./words.tsx";

/** Everything that an operator can do with a market. */
export function MarketActions({ of: market }: { of: Market }) {
  const { tenant } = useDesk().session;
  return (
    <span class="ways">
      <Action of={trading(tenant, market, "suspend")} />
      <Action of={trading(tenant, market, "resume")} />
      <Action of={settlement(tenant, market)} />
      <Action of={voiding(tenant, market)} />
      <Action of={correction(tenant, market)} />
      <Action of={clarification(tenant, market)} />
    </span>
  );
}

/** The market as a person would see it after opening the page now. */
const presentOf = (api: Api, id: string): Promise<Market> => api.getMarket({ id });

function trading(tenant: string, { id, question, status }: Market, verb: "suspend" | "resume"): ActionOf<Market> {
  const isHalt = verb === "suspend";
  const fitting = isHalt ? "open" : "suspended";
  return {
    label: isHalt ? "Suspend" : "Resume",
    thing: question,
    about: { marketId: id },
    scope: "markets",
    preview: (api) => presentOf(api, id),
    explain: (shown) => (
      <p>
        {isHalt
          ? "Users cannot buy or sell until it is resumed. Positions are kept."
          : "Users can buy and sell again until it closes."}{" "}
        {shown && `It is ${shown.status}.`}
      </p>
    ),
    run: (api) => (isHalt ? api.suspendMarket({ id }) : api.resumeMarket({ id })),
    line: (_values, reason) => pmctl(tenant, "market", verb, id, ...option("reason", reason)),
    done: () => `${isHalt ? "Suspended" : "Resumed"}: ${ended(question)}`,
    unfit: status === fitting ? undefined : `The market is ${status}.`,
  };
}

function clarification(tenant: string, { id, question, status }: Market): ActionOf<undefined> {
  return {
    label: "Clarify",
    thing: question,
    about: { marketId: id },
    scope: "markets",
    fields: [{ name: "text", label: "What the rules mean", kind: "text", hint: "Up to 1000 characters." }],
    explain: () => <p>Traders read the text under the rules as it is written. It cannot be changed or taken back.</p>,
    run: (api, _shown, { text = "" }) => api.clarifyMarket({ id, text: text.trim() }),
    line: ({ text }, reason) =>
      pmctl(tenant, "market", "clarify", id, ...option("text", text?.trim()), ...option("reason", reason)),
    done: () => `Clarified: ${ended(question)}`,
    unfit: status === "settled" ? "The market is settled." : undefined,
  };
}

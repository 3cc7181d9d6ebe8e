import type { Command } from "commander";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";
import { unlessMissing, wholeId } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import { price, shares, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { findOrigin, type Origin } from "./origin.ts";
import { limitInForce, originSentence, refusalSentence } from "./sentences.ts";

type Refusal = WireResult<"getRefusal">;
type Trade = WireResult<"explainTrade">;

interface ExplainedRefusal {
  kind: "refusal";
  refusal: Refusal;
  because: string;
  /** The origin of the rule; null where no field of the tenant file decided. */
  rule: Origin | null;
}

interface ExplainedTrade {
  kind: "trade";
  trade: Trade;
  rule: Origin;
}

interface WhyOptions {
  id: string;
  config: TenantConfig;
  /** Whether the API is a running server: only a server remembers refused requests. */
  isServer: boolean;
}

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .argument("<id>", "id of a request (the answer's Request-Id) or of a trade, or an id prefix", identifier)
      .description(
        "explain a refused request, a trade or a bad user token: the rule, the numbers and the line of the tenant file",
      ),
    { names: "kind refusal trade because rule", ends: ASKS_TENANT },
    ({ options, args: [id = ""], io }) =>
      withSession(options, io, (session) =>
        runWhy({ id, config: session.tenant.config, isServer: session.services === undefined }, session.api(), io),
      ),
  );
}

/** Names the user too, where an operator asked on a user's behalf. */
function whoAsked({ actor, userId }: Refusal): string {
  return userId === null || actor === `user:${userId}` ? actor : `${actor} for ${userId}`;
}

const refusalView: View<ExplainedRefusal, ExplainedRefusal> = {
  kind: "record",
  fields: ({ refusal, because, rule }) => [
    ["because", because],
    ["rule", rule ? originSentence(rule, limitInForce(refusal)) : undefined],
    ["told", `${refusal.status} ${refusal.code}: ${refusal.error}`],
    ["request", `${refusal.operation} by ${whoAsked(refusal)}, ${time(refusal.ts, { seconds: true })}`],
    ["market", refusal.marketId ?? undefined],
  ],
};

const tradeView: View<ExplainedTrade, ExplainedTrade> = {
  kind: "record",
  fields: ({ trade, rule }) => [
    ["trade", `${trade.userId}: ${trade.action} ${shares(trade.shares)} ${trade.side} for ${usd(trade.amount)} USD`],
    ["market", `${trade.marketId}: ${trade.question}`],
    ["YES price", `${price(trade.yesPriceBefore)} before, ${price(trade.yesPriceAfter)} after`],
    ["average", `${price(trade.avgPrice)} USD a share, fee included`],
    ["fee", `${usd(trade.fee)} USD; ${originSentence(rule)}`],
    ["entry", `${trade.entry.seq}, ${trade.entry.actor}, ${trade.entry.ts}`],
    ["hash", trade.entry.hash],
  ],
};

/** @throws Fault NOT_FOUND when the id is neither a trade nor a remembered request */
export async function runWhy(options: WhyOptions, api: Api, { output }: Io): Promise<void> {
  const { id, config, isServer } = options;
  const known = await find(id, api, isServer);
  const whole = known ? undefined : await wholeId(isServer ? ["trade", "request"] : ["trade"], id, api);
  const { trade, refusal } = known ?? (whole === undefined ? undefined : await find(whole, api, isServer)) ?? {};
  if (trade) {
    const rule = await findOrigin("policy.feeBps", { beforeSeq: trade.entry.seq }, { config, api });
    await output.print({ kind: "trade", trade, rule }, tradeView);
    return;
  }
  if (!refusal) throw notFound(id, isServer);
  const { field, limit } = refusal.detail;
  const isInFile = typeof field === "string" && field.includes(".");
  const rule = isInFile ? await findOrigin(field, { notAfter: refusal.ts, limit }, { config, api }) : null;
  await output.print({ kind: "refusal", refusal, because: refusalSentence(refusal), rule }, refusalView);
}

/** Finds the trade or the refused request with this whole id. */
async function find(
  id: string,
  api: Api,
  isServer: boolean,
): Promise<{ trade?: Trade; refusal?: Refusal } | undefined> {
  const trade = await unlessMissing(api.explainTrade({ tradeId: id }));
  if (trade) return { trade };
  const refusal = isServer ? await unlessMissing(api.getRefusal({ requestId: id })) : undefined;
  return refusal && { refusal };
}

function notFound(id: string, isServer: boolean): Fault {
  const hint = isServer
    ? "a server process remembers its last 10,000 refused changes and 1,000 refused user tokens, until it ends"
    : "only the running server remembers refused requests, and none was asked: name it with --url";
  const logged = `a request of any kind, such as a webhook, is in pmctl logs --request ${id}`;
  return new Fault(
    "NOT_FOUND",
    `${JSON.stringify(id)} is neither a trade nor a remembered request; ${hint}; ${logged}`,
  );
}

import { once } from "node:events";
import type { Command } from "commander";
import type { Demo, DemoOptions } from "../../app/serve/demo.ts";
import type { DemoSummary } from "../../app/serve/demo-story.ts";
import { commandPrefix } from "../../config/environment.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { CommandContext, Host, Io } from "../command.ts";
import { portNumber } from "../input/parsers.ts";
import { resultWord } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { addShowOptions, type ShowOptions, showPage } from "./show-page.ts";

export type DemoAddresses = Awaited<ReturnType<typeof addresses>> & { crowd: readonly string[] };

const summaryView: View<DemoSummary, DemoSummary> = {
  kind: "record",
  fields: ({ markets, trades, reconciliation, audit, seconds }) => [
    ["markets settled", String(markets.length)],
    ["trades", String(trades)],
    ["discrepancy", String(reconciliation.discrepancy)],
    ["audit entries", `${audit.count}, ${audit.verified ? "verified" : "broken"}`],
    ["seconds", String(seconds)],
  ],
};

export const addressView: View<DemoAddresses, DemoAddresses> = {
  kind: "text",
  atOnce: true,
  text: ({
    url,
    playgroundUrl,
    marketUrl,
    settlingUrl,
    opsUrl,
    consoleUrl,
    adminKey,
    publicKey,
    userId,
    userToken,
    crowd,
    curl,
    tryNext,
  }) =>
    [
      `playground ${playgroundUrl}    (open it in a browser)`,
      `a market   ${marketUrl}`,
      `settles    ${settlingUrl}    (by itself, a minute from now)`,
      `documents  ${url}/docs`,
      `API        ${url}    (described at ${url}/openapi.json)`,
      `operations ${opsUrl}    (/livez, /readyz, /metrics)`,
      `console    ${consoleUrl}    (sign in with the admin key)`,
      `admin key  ${adminKey}`,
      `public key ${publicKey}`,
      `${userId}'s token, valid for an hour:`,
      userToken,
      ...(crowd.length === 0 ? [] : ["", `${listed(crowd)} are programs that make small trades, so that prices move.`]),
      "",
      ...curl,
      "",
      "in another terminal, in this directory:",
      ...tryNext.map((line) => `  ${commandPrefix()}${line}`),
    ].join("\n"),
};

const listed = (names: readonly string[]) => `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

export function register(noun: Command, host: Host): void {
  noun
    .option("--once", "run one market of each kind to the end, check everything, and stop")
    .option("--port <n>", "port of the API; 0 takes any free one", portNumber)
    .option("--host <address>", "address to listen on, instead of the file's")
    .option("--no-crowd", "leave the markets to you: no program trades while the demo serves")
    .description("run a tenant with markets, money and a server, from nothing");
  host.add<DemoOptions & ShowOptions>(
    addShowOptions(noun),
    {
      names:
        "tenant url playgroundUrl marketUrl settlingUrl opsUrl consoleUrl adminKey publicKey userId userToken curl tryNext crowd markets trades reconciliation audit seconds",
      ends: { 8: "`--once`: the log or the ledger does not hold", 9: "the demo's database or server does not answer" },
    },
    runDemo,
  );
}

/** Provisions and serves the demo tenant, and leaves no process behind. */
async function runDemo({ options, io, interrupts }: CommandContext<DemoOptions & ShowOptions>): Promise<void> {
  const startedAt = performance.now();
  const stopped = interrupts.take();
  const note = (text: string) => io.output.note(text);
  const [{ withDemo }, { runOnce }] = await Promise.all([
    import("../../app/serve/demo.ts"),
    import("../../app/serve/demo-story.ts"),
  ]);
  return withDemo(options, note, async (demo) => {
    const { host = demo.stage.tenant.config.server.host } = options;
    if (!isLoopback(host))
      note(
        `The demo listens on ${host}: anyone who reaches it gets its public key and its users' tokens from /playground`,
      );
    if (!options.once) return keepPlaying(demo, { ...options, host }, io, stopped);
    await io.output.print(await runOnce(demo.stage, (text) => note(`  ${text}`), startedAt), summaryView);
  });
}

async function keepPlaying(
  { server, stage }: Demo,
  options: DemoOptions & ShowOptions & { host: string },
  io: Io,
  stopped: AbortSignal,
): Promise<void> {
  const [{ admitTraders, marketToShow, openMarketOfNow, settlementOf, tradeOn }, { CROWD, Crowd }] = await Promise.all([
    import("../../app/serve/demo-story.ts"),
    import("../../app/serve/demo-crowd.ts"),
  ]);
  io.output.note("Verifying and funding two traders, trading");
  const { items: markets } = await stage.admin.listMarkets({ limit: 200 });
  const shown = await marketToShow(stage);
  await admitTraders(stage);
  const soon = await openMarketOfNow(stage);
  const ids = [...markets.map(({ id }) => id), soon.id];
  await tradeOn(stage, ids);
  const crowd = options.crowd === false ? undefined : new Crowd(server.services);
  await crowd?.join(stage.tenant.id);
  const printed = await addresses(stage, server, shown ?? soon.id, soon.id);
  await io.output.print({ ...printed, crowd: crowd ? CROWD : [] }, addressView);
  await showPage({ url: printed.playgroundUrl, host: options.host }, options, io.output);
  io.output.note("\nCtrl-C ends the demo and its database.");
  const trading = crowd?.start(ids, (error) => io.output.note(`The demo's traders stopped: ${String(error)}`));
  const outcome = await settlementOf(stage, soon.id, stopped);
  if (outcome)
    io.output.note(
      `\nThe oracle settled the market that closes first: ${resultWord(outcome)}. See ${printed.settlingUrl}`,
    );
  if (!stopped.aborted) await once(stopped, "abort");
  await trading?.stop();
}

async function addresses(
  stage: Demo["stage"],
  { url, opsUrl, consoleUrl }: Demo["server"],
  marketId: string,
  settlingId: string,
) {
  const { adminKey, publicKey } = stage;
  const userId = "alice";
  const userToken = await stage.userToken(userId);
  const trade = JSON.stringify({ marketId, selection: { side: "yes" }, amount: 5 });
  return {
    tenant: stage.tenant.id,
    url,
    playgroundUrl: `${url}/playground`,
    marketUrl: `${url}/m/${marketId}`,
    settlingUrl: `${url}/m/${settlingId}`,
    opsUrl,
    consoleUrl,
    adminKey,
    publicKey,
    userId,
    userToken,
    curl: [
      `curl -s ${url}/v1/markets -H 'x-api-key: ${publicKey}'`,
      [
        `curl -s ${url}/v1/trade`,
        `-H 'x-api-key: ${publicKey}'`,
        `-H 'content-type: application/json'`,
        `-d '${trade}'`,
        `-H 'authorization: Bearer ${userToken}'`,
      ].join(" \\\n  "),
      `curl -s -X POST ${url}/v1/reconcile -H 'x-api-key: ${adminKey}'`,
    ],
    tryNext: [
      `pmctl market list -t ${stage.tenant.id}`,
      `pmctl trade buy -t ${stage.tenant.id} --market ${marketId} --side yes --amount 5 --user ${userId}`,
      `pmctl doctor ${stage.tenant.id}`,
    ],
  };
}

import type { AimId } from "../aims.ts";
import { startBare } from "../bare.ts";
import { median } from "../figures.ts";
import { requestBytes, runLoad } from "../load.ts";
import { measure } from "../measure.ts";
import type { BenchServer, Stage } from "../stage.ts";
import type { TradingTerms } from "./trading.ts";

const ROUNDS = 2;
const CONNECTIONS = 64;
const IN_RECENT = 20;

interface Read {
  id: AimId;
  paths: string[];
  /** With a token of each trader in turn; without, as the public reads. */
  ofUsers?: true;
}

function readsOf({ markets }: Stage): Read[] {
  const each = (suffix: string) => markets.map((id) => `/v1/markets/${id}${suffix}`);
  return [
    { id: "detail", paths: each("") },
    { id: "list", paths: ["/v1/markets?limit=20"] },
    { id: "trending", paths: ["/v1/markets/trending"] },
    { id: "depth", paths: each("/depth") },
    { id: "history", paths: each("/history") },
    { id: "recent", paths: [`/v1/markets/recent?ids=${markets.slice(0, IN_RECENT).join(",")}`] },
    { id: "positions", paths: ["/v1/positions"], ofUsers: true },
    { id: "wallet", paths: ["/v1/wallet"], ofUsers: true },
  ];
}

/** Reads, each in turn with a bare handler that returns the bytes that the server just answered. */
export async function readRatios({ stage, report, server, seconds }: TradingTerms): Promise<void> {
  for (const read of readsOf(stage)) {
    const requests = requestsOf(stage, read);
    const bare = await startBare(await bodiesOf(stage, server, read));
    // Both compile what they run through before they are measured.
    for (const { port } of [server, bare]) await runLoad(port, { connections: CONNECTIONS, seconds: 1, requests });
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const load = { connections: CONNECTIONS, seconds: Math.max(1, seconds / 2), requests };
      const measured = await measure(stage, report, [server], { ...load, name: read.id });
      const floor = await measure(stage, report, [bare], { ...load, name: `${read.id}, bare h3` });
      ratios.push(measured.perSecond / floor.perSecond);
    }
    bare.end();
    report.figure(read.id, median(ratios));
  }
}

function headersOf({ secrets, tokens }: Stage, { ofUsers }: Read, index: number): Record<string, string> {
  const key = { "x-api-key": secrets.publicKey };
  return ofUsers ? { ...key, authorization: `Bearer ${tokens[index % tokens.length]}` } : key;
}

function requestsOf(stage: Stage, read: Read): Buffer[] {
  const count = read.ofUsers ? stage.tokens.length : read.paths.length;
  return Array.from({ length: count }, (_, index) =>
    requestBytes("GET", read.paths[index % read.paths.length] ?? "", headersOf(stage, read, index)),
  );
}

/** What the server answers, by path without query. */
async function bodiesOf(stage: Stage, { port }: BenchServer, read: Read): Promise<Record<string, string>> {
  const bodies: Record<string, string> = {};
  for (const path of read.paths) {
    const url = new URL(path, `http://127.0.0.1:${port}`);
    const answer = await fetch(url, { headers: headersOf(stage, read, 0) });
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}`);
    bodies[url.pathname] = await answer.text();
  }
  return bodies;
}

import { randomUUID } from "node:crypto";
import type { Operator } from "../support/operator.ts";
import { userToken } from "../support/user-token.ts";
import { sendOrder } from "./load.ts";

/** A tenant that an old server and one of this checkout serve at the same time. */
export interface Mixed {
  operator: Operator;
  secrets: Record<string, string>;
  /** The addresses of the two. */
  old: string;
  present: string;
}

/** What the two servers did. */
export interface Ended {
  /** Trades that one of them acknowledged. */
  tradeIds: string[];
  /** What the old server answered with 500, because it does not know how a market ended. */
  unknownToOld: string[];
  findings: string[];
}

/** Funded, but none of the load's, so that both servers show a wallet as it stays. */
const USERS = ["usr_16", "usr_17", "usr_18", "usr_19"];

/**
 * Ends markets at the server of this checkout in the ways that the old one does not know: by a proposal with two approvers, by a
 * void, by a fraction. Users trade there at both servers before, and at neither once the end waits or is final; both servers
 * show the same wallets. The old one may be unable to show such a market, or a portfolio with it.
 */
export async function endMarkets({ operator, secrets, old, present }: Mixed): Promise<Ended> {
  const findings: string[] = [];
  const tradeIds: string[] = [];
  const unknownToOld: string[] = [];
  const servers = { old, present };

  async function ask(what: string, path: string, body: object): Promise<Record<string, unknown>> {
    const headers = { "x-api-key": secrets.ACME_ADMIN_KEY ?? "", "content-type": "application/json" };
    const answer = await fetch(present + path, { method: "POST", headers, body: JSON.stringify(body) });
    const told = (await answer.json()) as Record<string, unknown>;
    if (answer.status !== 200) findings.push(`${what}: ${answer.status} ${JSON.stringify(told)}`);
    return told;
  }

  /** Sends an order of each user to each server. */
  async function tradeAtBoth(marketId: string): Promise<string[]> {
    const answers: string[] = [];
    for (const [index, user] of USERS.entries())
      for (const [name, url] of Object.entries(servers)) {
        const side = index % 2 === 0 ? "yes" : "no";
        const body = { marketId, selection: { side }, amount: 10 } as const;
        const answer = await sendOrder(url, secrets, {
          token: await userToken(user, secrets),
          body,
          key: randomUUID(),
        });
        if ("tradeId" in answer) tradeIds.push(answer.tradeId);
        answers.push(`${name}: ${"tradeId" in answer ? "200" : answer.refused}`);
      }
    return [...new Set(answers)].sort();
  }

  async function expectTrades(what: string, marketId: string, expected: string): Promise<void> {
    const answers = (await tradeAtBoth(marketId)).join(", ");
    if (answers !== `old: ${expected}, present: ${expected}`)
      findings.push(`${what}: a trade was answered with ${answers}`);
  }

  async function openMarket(more: object): Promise<string> {
    const terms = { question: "Will it end?", category: "test", kind: "cpmm", p0: 0.5, liquidity: 1000 };
    const rest = { closeAt: "2040-01-01T00:00:00Z", resolutionRef: "test" };
    return String((await ask("a market", "/v1/markets", { ...terms, ...rest, ...more })).id);
  }

  async function read(
    url: string,
    path: string,
    user: string,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const authorization = `Bearer ${await userToken(user, secrets)}`;
    const answer = await fetch(url + path, { headers: { "x-api-key": secrets.ACME_PUBLIC_KEY ?? "", authorization } });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }

  /** A read of what ended: at the new server it is there, and at the old one it may be beyond what that knows. */
  async function expectShown(path: string, user: string): Promise<void> {
    const [there, here] = [await read(old, path, user), await read(present, path, user)];
    if (there.status === 500) unknownToOld.push(path);
    else if (there.status !== 200) findings.push(`the old server: ${path}: ${there.status}`);
    if (here.status !== 200) findings.push(`${path}: ${here.status} ${JSON.stringify(here.body)}`);
  }

  const proposed = await openMarket({ resolution: { approvals: 2 } });
  const [voided, parted] = [await openMarket({}), await openMarket({})];
  for (const marketId of [proposed, voided, parted]) await expectTrades("an open market", marketId, "200");

  await ask("a clarification", `/v1/markets/${proposed}/clarifications`, { text: "The first announcement counts." });
  const settle = ["market", "settle", proposed, "--outcome", "yes", "--reason", "Seen", "--early", "--yes"];
  const { stdout, stderr } = await operator.run(...settle, "-t", "acme", "--via", "db", "-o", "json");
  const { proposalId, status } = JSON.parse(stdout || "{}") as { proposalId?: string; status?: string };
  if (status !== "pending") findings.push(`a proposal: ${stdout}${stderr}`);
  await expectTrades("an end that waits", proposed, "400 MARKET_SUSPENDED");
  const approved = await ask("an approval", `/v1/proposals/${proposalId}/approve`, {});
  if (approved.status !== "executed") findings.push(`an approval: ${JSON.stringify(approved)}`);
  await ask("a void", `/v1/markets/${voided}/void`, { reason: "Called off", maxTreasuryUsd: 1000 });
  await ask("a fraction", "/v1/settle", { marketId: parted, outcome: { yes: 0.4 }, early: true, reason: "Seen" });
  for (const marketId of [proposed, voided, parted]) {
    await expectTrades("a market at its end", marketId, "400 MARKET_SETTLED");
    await expectShown(`/v1/markets/${marketId}`, "usr_16");
  }

  for (const user of USERS) {
    const [there, here] = [await read(old, "/v1/wallet", user), await read(present, "/v1/wallet", user)];
    if (there.status !== 200 || JSON.stringify(there) !== JSON.stringify(here))
      findings.push(
        `the wallet of ${user}: ${JSON.stringify(there)} at the old server, ${JSON.stringify(here)} at the new one`,
      );
    await expectShown("/v1/portfolio", user);
    await expectShown("/v1/positions", user);
  }
  return { tradeIds, unknownToOld, findings };
}

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../model/random.ts";
import { postWebhook } from "../support/operator.ts";
import { userToken } from "../support/user-token.ts";
import { until } from "./processes.ts";

const USERS = 8;
const CAPITAL_USD = 2000;
const CAPITAL_MICRO = CAPITAL_USD * 1e6;
const PACE_MS = 60;
const MOST_UNDER_WAY = 60;
/** Later than any answer that a server still gives. */
const ANSWER_WAIT_MS = 40_000;
/** Of an order with a key. */
const MOST_ATTEMPTS = 1000;
/** Codes of answers that say that nothing was done. */
const NOTHING_DONE = new Set(["DATABASE_UNAVAILABLE", "STANDBY_REQUIRED", "OVERLOADED", "RATE_LIMITED"]);
const NO_ANSWER = "no answer";

/** A trade that a client wants once. */
export interface Order {
  user: string;
  /** No other order has this amount, so the record shows which orders are in. */
  amountMicro: number;
  /** Null where the client sends none, and so sends the order once. */
  key: string | null;
  outcome: "open" | "acknowledged" | "refused" | "unknown";
  tradeId: string | undefined;
}

/** A server as clients see it. */
export interface Target {
  url: string;
}

interface World {
  secrets: Record<string, string>;
  marketIds: readonly string[];
  targets: readonly Target[];
  random: Random;
  /** Between two new orders at one server, whether the earlier ones were answered or not; 60 unless stated. */
  paceMs?: number;
  /** Servers may be killed, and then give no answer. */
  mayVanish?: boolean;
}

interface Attempt {
  code: string;
  tradeId?: string;
}

/** Clients that trade at all servers at a steady pace, half of them with keys, until they are told to stop. */
export class Load {
  /** Since the last start of the program, which makes amounts unique. */
  static #orders = 0;
  readonly orders: Order[] = [];
  /** What contradicts what servers have promised. */
  readonly findings: string[] = [];
  /** How many answers came with which code. */
  readonly codes = new Map<string, number>();
  /** The longest that an answer has taken. */
  slowestMs = 0;
  readonly #world: World;
  readonly #users: { id: string; token: string; acknowledgedMicro: number }[] = [];
  readonly #acknowledgements: { at: number; target: number }[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #sources: Promise<void>[] = [];

  private constructor(world: World) {
    this.#world = world;
  }

  /** Gives users of its own their money, and begins to trade. */
  static async start(name: string, world: World): Promise<Load> {
    const load = new Load(world);
    const url = world.targets[0]?.url ?? "";
    for (let index = 0; index < USERS; index++) {
      const id = `usr_${name}_${index}`;
      const event = { event: "deposit.completed", userId: id, amountUsd: CAPITAL_USD, txRef: `tx_${id}` };
      const answer = await postWebhook(url, "/payments/inbound/acme", world.secrets.ACME_WEBHOOK_SECRET ?? "", event);
      if (answer.status !== 200) throw new Error(`A deposit was answered with ${answer.status} ${await answer.text()}`);
      load.#users.push({ id, token: await userToken(id, world.secrets), acknowledgedMicro: 0 });
    }
    load.#sources = world.targets.map((_, target) => load.#send(target));
    return load;
  }

  /** The time from then until the first acknowledgement of each server, which is waited for. */
  async firstAfter(since: number, timeoutMs: number): Promise<(number | undefined)[]> {
    const first = (target: number) =>
      this.#acknowledgements.find((each) => each.target === target && each.at >= since)?.at;
    return Promise.all(
      this.#world.targets.map((_, target) =>
        until("an acknowledged trade", async () => first(target), timeoutMs).then(
          (at) => at - since,
          () => undefined,
        ),
      ),
    );
  }

  /** The longest time without an acknowledgement of any server since then. */
  longestGapMs(since: number): number {
    const times = [since, ...this.#acknowledgements.map(({ at }) => at).filter((at) => at > since)];
    return Math.max(0, ...times.map((at, index) => at - (times[index - 1] ?? at)));
  }

  /** Sends nothing new, and resolves when each order has its end. The database must be there. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#sources);
    await Promise.all(this.#underWay);
  }

  async #send(target: number): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      if (this.#underWay.size < MOST_UNDER_WAY * this.#world.targets.length) {
        const work = this.#order(target).finally(() => this.#underWay.delete(work));
        this.#underWay.add(work);
      }
      await delay(this.#world.paceMs ?? PACE_MS);
    }
  }

  /** One order to its end: with a key it is repeated, at any server, until it is acknowledged or surely nothing was done. */
  async #order(first: number): Promise<void> {
    const { random, targets, marketIds, mayVanish } = this.#world;
    const user = random.pick(this.#users);
    const amountMicro = 500_000 + ++Load.#orders;
    const key = random.chance(0.5) ? randomUUID() : null;
    const order: Order = { user: user.id, amountMicro, key, outcome: "open", tradeId: undefined };
    this.orders.push(order);
    const body = JSON.stringify({
      marketId: random.pick(marketIds),
      selection: { side: random.chance(0.5) ? "yes" : "no" },
      amount: amountMicro / 1e6,
    });
    let isUnsure = false;
    let target = first;
    for (let attempt = 0; attempt < MOST_ATTEMPTS && order.outcome === "open"; attempt++) {
      const { code, tradeId } = await this.#attempt(target, user.token, order.key, body);
      if (tradeId !== undefined) {
        order.tradeId = tradeId;
        order.outcome = "acknowledged";
        user.acknowledgedMicro += amountMicro;
        this.#acknowledgements.push({ at: performance.now(), target });
        if (random.chance(0.2)) await this.#readWallet(random.integer(0, targets.length - 1), user);
        return;
      }
      const isRefused = NOTHING_DONE.has(code);
      const isForeseen = isRefused || code === "OUTCOME_UNKNOWN" || (code === NO_ANSWER && mayVanish);
      if (!isForeseen) this.findings.push(`a trade was answered with ${code}`);
      isUnsure ||= !isRefused;
      if (order.key === null || !isUnsure) order.outcome = isRefused ? "refused" : "unknown";
      // Of those that were surely refused, clients with a key try some again.
      if (order.key !== null && random.chance(0.5)) order.outcome = "open";
      await delay(PACE_MS);
      target = random.integer(0, targets.length - 1);
    }
    if (order.outcome !== "open") return;
    order.outcome = "unknown";
    this.findings.push(`an order was sent ${MOST_ATTEMPTS} times and not acknowledged`);
  }

  /** A read never shows less than what was acknowledged before it was asked, whichever server is asked. */
  async #readWallet(target: number, user: { token: string; id: string; acknowledgedMicro: number }): Promise<void> {
    const spentMicro = user.acknowledgedMicro;
    const answer = await this.#fetch(target, "/v1/wallet", { authorization: `Bearer ${user.token}` });
    if (answer?.status !== 200) return;
    const { balanceUsd } = (await answer.json()) as { balanceUsd: number };
    if (Math.round(balanceUsd * 1e6) > CAPITAL_MICRO - spentMicro)
      this.findings.push(`server ${target} showed ${user.id} a balance from before an acknowledged trade`);
  }

  async #attempt(target: number, token: string, key: string | null, body: string): Promise<Attempt> {
    const began = performance.now();
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(key === null ? {} : { "idempotency-key": key }),
    };
    const answer = await this.#fetch(target, "/v1/trade", headers, body);
    const took = performance.now() - began;
    this.slowestMs = Math.max(this.slowestMs, took);
    const code = answer === undefined ? NO_ANSWER : (answer.headers.get("error-code") ?? String(answer.status));
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
    if (answer?.status !== 200) return { code };
    return { code, tradeId: ((await answer.json()) as { tradeId: string }).tradeId };
  }

  async #fetch(target: number, path: string, headers: object, body?: string): Promise<Response | undefined> {
    const { targets, secrets } = this.#world;
    try {
      const answer = await fetch(`${targets[target]?.url}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { "x-api-key": secrets.ACME_PUBLIC_KEY ?? "", ...headers },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(ANSWER_WAIT_MS),
      });
      return new Response(await answer.text(), answer);
    } catch {
      return undefined;
    }
  }
}

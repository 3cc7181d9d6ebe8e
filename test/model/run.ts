import { setTimeout } from "node:timers/promises";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import { asCommand, parse, wordsOf } from "./command-line.ts";
import { difference } from "./match.ts";
import { accepted, judge, type Observed, remember } from "./model.ts";
import { dueBy } from "./model-approvals.ts";
import { usableKey } from "./model-policy.ts";
import { type Read, readsOf } from "./model-reads.ts";
import { codeOf, type ExpectedEntry, type LogEntry, type Moment, type Outcome, type State } from "./model-state.ts";
import { USERS } from "./random.ts";
import { checkSeals, Departure, type SealedEntry, takeIn } from "./record.ts";
import { changed, type Prepared, prepare, touchedBy } from "./requests.ts";
import type { Call, Scenario, Step } from "./steps.ts";
import { openingState, SECRETS } from "./tenant.ts";
import { type Message, World } from "./world.ts";

export interface RunResult {
  /** The step after which they parted, from 0; undefined when they never did. */
  failedAt: number | undefined;
  failure: string | undefined;
  calls: number;
  reads: number;
}

/** Every so many steps all reads are compared, beside those that each step touches and a rotating part of the rest. */
const SWEEP_EVERY = 100;
const ROTATING = 1;

/** How long the end of a short hold and the sweep after it may take on a busy machine. */
const SWEPT_WITHIN_MS = 60_000;

/** Runs a scenario against the service and the model side by side, to its end or to the first departure. */
export async function runScenario(scenario: Scenario, template: ClusterConnection): Promise<RunResult> {
  const world = await World.open(template, scenario.tenant);
  const run = new Run(world, openingState(scenario.tenant));
  const figures = () => ({ calls: run.calls, reads: run.reads });
  let at = 0;
  try {
    await run.begin();
    for (; at < scenario.steps.length; at++) await run.take(scenario.steps[at] as Step, at);
    await run.sweep();
    return { failedAt: undefined, failure: undefined, ...figures() };
  } catch (error) {
    const failure = error instanceof Departure ? error.message : String((error as Error).stack ?? error);
    return { failedAt: at, failure, ...figures() };
  } finally {
    await world.close();
  }
}

class Run {
  calls = 0;
  reads = 0;
  readonly #world: World;
  #state: State;
  #turn = 0;
  /** Calls by their key, so that they can be repeated. */
  readonly #sent = new Map<string, { call: Call; prepared: Prepared }>();

  constructor(world: World, state: State) {
    this.#world = world;
    this.#state = state;
  }

  /** What the apply wrote is taken as it is; from here on the model says what comes. */
  async begin(): Promise<void> {
    for (const entry of await this.#newEntries()) this.#state.log.push(entry);
  }

  async take(step: Step, index: number): Promise<void> {
    const touched = await this.#perform(step);
    await this.#passHolds();
    if ((index + 1) % SWEEP_EVERY === 0) await this.sweep();
    else await this.#compareSome(touched);
  }

  /** Everything, page by page, from both servers. */
  async sweep(): Promise<void> {
    const reads = readsOf(this.#state, USERS);
    for (const [index, read] of reads.entries()) await this.#compare(read, index % 2 === 0 ? 0 : 1, true);
  }

  /** Waits until the service has executed what waits for nothing but the end of a short hold. */
  async #passHolds(): Promise<void> {
    const end = Date.now() + SWEPT_WITHIN_MS;
    while (dueBy(this.#state, end).length > 0) {
      if (Date.now() > end) throw new Departure("a proposal whose time has come is not executed");
      await setTimeout(100);
      await this.#follow([]);
    }
  }

  async #perform(step: Step): Promise<string[]> {
    switch (step.type) {
      case "call":
        return this.#call(step.call);
      case "again":
        return this.#again(step);
      case "race":
        return this.#race(step.calls);
      case "restart":
        await this.#world.restart(step.server, "orderly");
        return [];
      case "kill":
        return this.#kill(step.server, step.call);
      case "look":
        return this.#look(step);
    }
  }

  async #call(call: Call): Promise<string[]> {
    const prepared = prepare(this.#state, call, Date.now());
    if (call.idempotencyKey !== undefined) this.#sent.set(call.idempotencyKey, { call, prepared });
    if (call.door) return this.#command(call, asCommand(prepared, call));
    return this.#exchange(prepared, call.server, async (message) => {
      if (call.lost) await this.#world.lose(call.server, message);
    });
  }

  async #again({ idempotencyKey, change, server }: Extract<Step, { type: "again" }>): Promise<string[]> {
    const sent = this.#sent.get(idempotencyKey);
    if (!sent || sent.call.door) return [];
    return this.#exchange(change ? changed(sent.prepared) : sent.prepared, server);
  }

  async #kill(server: 0 | 1, call: Call): Promise<string[]> {
    const prepared = prepare(this.#state, call, Date.now());
    return this.#exchange(prepared, server, (message) => this.#world.killDuring(server, message));
  }

  /** One request and its answer, judged; `before` may send it once more, without hearing of what came of it. */
  async #exchange(prepared: Prepared, server: 0 | 1, before?: (message: Message) => Promise<void>): Promise<string[]> {
    this.calls += 1;
    const message = this.#messageOf(prepared);
    const from = Date.now();
    await before?.(message);
    const answer = await this.#world.send(server, message);
    const request = { ...prepared.request, during: { from, to: Date.now() } };
    const timed = { ...prepared, request };
    const outcome = accepted(judge(this.#state, request), answer);
    if (typeof outcome === "string")
      throw new Departure(`${request.operation} ${prepared.path} ${prepared.text ?? ""}\n  ${outcome}`);
    const entries = this.#settle(this.#state, timed, outcome, answer);
    await this.#follow(entries);
    return touchedBy(this.#state, timed);
  }

  /** Two calls at once: the log says which was first, and a refusal may stand before or after the other's change. */
  async #race(calls: [Call, Call]): Promise<string[]> {
    this.calls += 2;
    const prepared = calls.map((call) => prepare(this.#state, call, Date.now())) as [Prepared, Prepared];
    const from = Date.now();
    const answers = await Promise.all(
      prepared.map((each, index) => this.#world.send(index as 0 | 1, this.#messageOf(each))),
    );
    const during = { from, to: Date.now() };
    const logged = await this.#newEntries();
    const complaints: string[] = [];
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const fork = structuredClone(this.#state);
      try {
        const entries = order.flatMap((which) => {
          const timed = { ...(prepared[which] as Prepared) };
          timed.request = { ...timed.request, during };
          const outcome = accepted(judge(fork, timed.request), answers[which] as Observed);
          if (typeof outcome === "string")
            throw new Departure(`${timed.request.operation} ${timed.text ?? ""}\n  ${outcome}`);
          return this.#settle(fork, timed, outcome, answers[which] as Observed);
        });
        takeIn(fork, logged, entries);
        this.#state = fork;
        return prepared.flatMap((each) => touchedBy(fork, each));
      } catch (error) {
        if (!(error instanceof Departure)) throw error;
        complaints.push(error.message);
      }
    }
    throw new Departure(`two calls at once fit in neither order:\n${complaints.join("\n")}`);
  }

  async #command(call: Call, prepared: Prepared): Promise<string[]> {
    this.calls += 1;
    const from = Date.now();
    const { stdout, stderr, exitCode } = await this.#world.operator.run(...wordsOf(prepared, call));
    const request = { ...prepared.request, during: { from, to: Date.now() } };
    const outcomes = judge(this.#state, request);
    const refused = outcomes.find((outcome) => "refused" in outcome && codeOf(outcome.refused).exit === exitCode);
    const observed = { status: 200, code: undefined, body: exitCode === 0 ? parse(stdout) : {} };
    const outcome =
      exitCode === 0
        ? accepted(outcomes, observed)
        : (refused ?? `exit ${exitCode}, expected ${JSON.stringify(outcomes)}`);
    if (typeof outcome === "string")
      throw new Departure(`pmctl ${wordsOf(prepared, call).join(" ")}\n  ${outcome}\n  ${stderr}`);
    await this.#follow(this.#settle(this.#state, { ...prepared, request }, outcome, observed));
    return touchedBy(this.#state, prepared);
  }

  /** A read through the command line shows what the interface shows. */
  async #look({ words, path, user }: Extract<Step, { type: "look" }>): Promise<string[]> {
    const read = readsOf(this.#state, USERS).find((each) => each.path === path && each.user === user);
    if (!read || read.status) return [];
    const from = Date.now();
    const { stdout, stderr, exitCode } = await this.#world.operator.run(...words, "-o", "json");
    const found =
      exitCode === 0
        ? difference(read.expected({ from, to: Date.now() }), parse(stdout))
        : `exit ${exitCode}: ${stderr}`;
    if (found !== undefined) throw new Departure(`pmctl ${words.join(" ")}\n  ${found}`);
    return [];
  }

  #settle(state: State, { request, label }: Prepared, outcome: Outcome, { body }: Observed): ExpectedEntry[] {
    if ("refused" in outcome) return [];
    const entries = outcome.commit(body);
    remember(state, request, body);
    if (label) state.labels[label.name] ??= String(body[label.field]);
    return entries;
  }

  #messageOf({ method, path, text, request }: Prepared): Message {
    const { key, user, claimed, idempotencyKey, bytes } = request;
    return {
      method,
      path,
      text,
      apiKey: this.#valueOf(key),
      user,
      claimed,
      idempotencyKey,
      signed: bytes !== undefined,
    };
  }

  /** The newest value of a key's name, even if the key has ended; an unknown key where the name never had one. */
  #valueOf(name: string | undefined): string | undefined {
    if (name === undefined) return undefined;
    return usableKey(this.#state, name, 0)?.value ?? `pk_${"Z".repeat(43)}`;
  }

  async #follow(expected: ExpectedEntry[]): Promise<void> {
    takeIn(this.#state, await this.#newEntries(), expected);
  }

  /** What the log has beyond what is known, asked of the servers in turn. */
  async #newEntries(): Promise<LogEntry[]> {
    const { log } = this.#state;
    const server = this.#turn++ % 2 === 0 ? 0 : 1;
    const path = `/v1/audit?after=${log.at(-1)?.seq ?? 0}&limit=200`;
    const { body } = await this.#world.send(server, { method: "GET", path, apiKey: SECRETS.ACME_ADMIN_KEY });
    return checkSeals(log, body.entries as SealedEntry[]);
  }

  async #compareSome(touched: string[]): Promise<void> {
    const reads = readsOf(this.#state, USERS);
    const own = reads.filter(({ about }) => about.some((each) => touched.includes(each)));
    const core = own.filter(({ path }) => CORE.test(path));
    const rotating = Array.from(
      { length: ROTATING },
      (_, index) => reads[(this.#turn * ROTATING + index) % reads.length] as Read,
    );
    const server = this.#turn % 2 === 0 ? 1 : 0;
    await Promise.all([...new Set([...core, ...rotating])].map((read) => this.#compare(read, server, false)));
  }

  async #compare(read: Read, server: 0 | 1, whole: boolean): Promise<void> {
    this.reads += 1;
    const apiKey = { ops: SECRETS.ACME_ADMIN_KEY, web: SECRETS.ACME_PUBLIC_KEY, nobody: undefined }[read.as];
    const ask = (path: string) => this.#world.send(server, { method: "GET", path, apiKey, user: read.user });
    const from = Date.now();
    const { status, body, nextCursor } = await ask(whole && read.paged ? withQuery(read.path, "limit=17") : read.path);
    let shown: unknown = body;
    if (whole && read.paged)
      for (let cursor = nextCursor; cursor !== undefined; ) {
        const page = await ask(withQuery(read.path, `limit=17&cursor=${encodeURIComponent(cursor)}`));
        shown = [...(shown as unknown[]), ...(page.body as unknown as unknown[])];
        cursor = page.nextCursor;
      }
    const during: Moment = { from, to: Date.now() };
    const expected = read.expected(during);
    const wanted = !whole && read.paged && Array.isArray(expected) ? expected.slice(0, 50) : expected;
    const found =
      status === (read.status ?? 200)
        ? difference(wanted, shown)
        : `expected ${read.status ?? 200}, got ${status} ${JSON.stringify(body)}`;
    if (found !== undefined)
      throw new Departure(`GET ${read.path}${read.user ? ` of ${read.user}` : ""} at server ${server}\n  ${found}`);
  }
}

/** What a step can hardly leave as it was. */
const CORE = /^\/v1\/(wallet|positions|markets\/[^/?]+|users\/[^/]+)$/;

const withQuery = (path: string, query: string) => `${path}${path.includes("?") ? "&" : "?"}${query}`;

import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { type DatabaseAddress, type DatabaseHost, parseDatabaseUrl } from "../../domain/access/database-address.ts";
import { askAlone, askHost, connectTimeoutSec, type HostRole, type Primary, type Server } from "./ask-host.ts";
import { dial, NotConnected } from "./dial.ts";

const FIRST_MS = 50;
/** With the time that finding the primary and a commit take, a change is still acknowledged within 5 s of a promotion. */
const LONGEST_MS = 4000;

/**
 * How long to wait before the next attempt: it doubles with each failure, and half of it is random, so that servers which
 * lost one database at one moment do not come back to it at one moment.
 * @param failures in a row, at least 1
 * @param random from 0 up to 1
 * @returns milliseconds from 50 to 4000
 */
export function backoffMs(failures: number, random: number): number {
  const longest = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
  return Math.max(FIRST_MS, longest * (0.5 + random / 2));
}

/** How long the other hosts may take to answer once one was heard: a silent one must not hold up a failover. */
const HOST_TIMEOUT_MS = 1000;
/** The same once a primary was heard: one of a later timeline, if there is one, answers about as fast. */
const RIVAL_MS = 200;
/** How long a primary that nothing is connected to counts as one. */
const UNSEEN_MS = 1000;
/** The first answer of a server that starts, stops or is full, with its code; a refused login is no reason to wait. */
const BUSY = /^E.*\0C(?:57P|53)/s;
const APART_MS = 1000;

/**
 * The way of this process to one database: which of its hosts is the primary now. The connections of all clients with one
 * URL take it, so that after a failover one of them asks and the others wait for the answer.
 *
 * The driver (postgres 3.4.9) could choose among hosts itself, but takes a standby for `read-write`, keeps asking hosts that
 * are all away in a closed loop, and knows neither IPv6 nor sockets beside other hosts.
 */
export class Route {
  readonly address: DatabaseAddress;
  /** The primary that was found last. */
  #current: { server: Server; foundAt: number } | undefined;
  #finding: Promise<Server> | undefined;
  /** Questions without an answer yet: a silent host is not asked again meanwhile. */
  readonly #asked = new Map<DatabaseHost, Promise<HostRole>>();
  readonly #sessions = new Map<Socket, Server>();
  #failures = 0;
  /** Until then no connection is tried. */
  #pausesUntil = 0;

  constructor(url: string) {
    this.address = parseDatabaseUrl(url);
  }

  /**
   * Opens a connection to the primary.
   * @throws NotConnected, or the database's own refusal of the login
   */
  async dial(): Promise<Socket> {
    const server = await this.#server();
    const timeoutSec = connectTimeoutSec(this.address);
    try {
      const socket = await dial(server, server.encryption, timeoutSec === 0 ? undefined : timeoutSec * 1000);
      this.#watch(socket, server);
      return socket;
    } catch (error) {
      this.leave();
      this.#pause();
      throw error;
    }
  }

  /** The host that connections go to; undefined while that is not known. */
  get host(): DatabaseHost | undefined {
    return this.#current?.server;
  }

  /** The server that was the primary may be none any more: the next connection asks. */
  leave(): void {
    this.#current = undefined;
  }

  async #server(): Promise<Server> {
    const known = this.#current;
    if (known && (this.#sessions.size > 0 || performance.now() - known.foundAt < UNSEEN_MS)) return known.server;
    this.#finding ??= this.#find().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  async #find(): Promise<Server> {
    const pauseMs = this.#pausesUntil - performance.now();
    if (pauseMs > 0) await delay(pauseMs);
    const { hosts } = this.address;
    const [only] = hosts;
    try {
      const server =
        hosts.length === 1 && only ? await askAlone(this.address, only) : primaryAmong(await this.#askAll());
      this.#current = { server, foundAt: performance.now() };
      // The server that was spoken to before may show what is no longer so.
      for (const [socket, old] of this.#sessions)
        if (old.host !== server.host || old.port !== server.port) socket.destroy();
      return server;
    } catch (error) {
      this.#pause();
      throw error;
    }
  }

  /** What the hosts answer, without those that are silent for too long. */
  async #askAll(): Promise<HostRole[]> {
    const answers: HostRole[] = [];
    const answered = Promise.withResolvers<void>();
    const all = this.address.hosts.map(async (host) => {
      answers.push(await this.#ask(host));
      const waitMs = "server" in (answers.at(-1) ?? {}) ? RIVAL_MS : HOST_TIMEOUT_MS;
      setTimeout(answered.resolve, waitMs).unref();
    });
    await Promise.race([Promise.all(all), answered.promise]);
    return answers;
  }

  #ask(host: DatabaseHost): Promise<HostRole> {
    const known = this.#asked.get(host);
    if (known) return known;
    const answer = askHost(this.address, host).finally(() => this.#asked.delete(host));
    this.#asked.set(host, answer);
    return answer;
  }

  #watch(socket: Socket, server: Server): void {
    let isLost = false;
    let isBusy = false;
    this.#sessions.set(socket, server);
    // Before the stream's own listener, which ends what the server has ended. A client that ends a session did so earlier.
    socket.prependOnceListener("end", () => {
      isLost = !socket.writableEnded;
    });
    socket.once("error", () => {
      isLost = true;
    });
    socket.once("data", (first: Buffer) => {
      isBusy = BUSY.test(first.toString("latin1"));
    });
    socket.once("close", () => {
      this.#sessions.delete(socket);
      if (!isLost) return;
      // It may be the first sign of a failover.
      this.leave();
      if (isBusy) this.#pause();
    });
  }

  /** Failures that are far apart, as of commands that come now and then, do not add up. */
  #pause(): void {
    const now = performance.now();
    this.#failures = now - this.#pausesUntil > APART_MS ? 1 : this.#failures + 1;
    this.#pausesUntil = now + backoffMs(this.#failures, Math.random());
  }
}

function primaryAmong(answers: readonly HostRole[]): Server {
  const primaries = answers.filter((answer): answer is Primary => "server" in answer);
  const [latest] = primaries.toSorted((a, b) => b.timeline - a.timeline);
  if (latest) return latest.server;
  const problems = answers.flatMap((answer) => ("problem" in answer ? [answer.problem] : []));
  // What a database itself says, such as that there is none of this name, tells more than that others are away.
  const words = problems.find((problem) => problem instanceof postgres.PostgresError);
  if (words !== undefined) throw words;
  const texts = problems.map((problem) => (problem instanceof Error ? problem.message : String(problem)));
  const message = `No host is a primary that takes changes: ${texts.join("; ") || "none answers"}`;
  throw new NotConnected(Object.assign(new Error(message), { code: "NO_PRIMARY" }));
}

const routes = new Map<string, Route>();

/** The route of this process to the database of a URL. */
export function routeTo(url: string): Route {
  const route = routes.get(url) ?? new Route(url);
  routes.set(url, route);
  return route;
}

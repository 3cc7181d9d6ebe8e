import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { type DatabaseAddress, type DatabaseHost, parseDatabaseUrl } from "../../domain/access/database-address.ts";
import { askAlone, askHost, connectTimeoutSec, type HostRole, type Primary, type Server } from "./ask-host.ts";
import { dial, NotConnected } from "./dial.ts";

const FIRST_MS = 50;
/** With the time for finding the primary and for a commit, a change is still acknowledged within 5 s of a promotion. */
const LONGEST_MS = 4000;

/**
 * The pause before the next attempt. It doubles with each failure, and half of it is random, so that servers which lost
 * a database together do not return to it together.
 * @param failures failures in a row, at least 1
 * @param random from 0 up to 1
 * @returns milliseconds from 50 to 4000
 */
export function backoffMs(failures: number, random: number): number {
  const longest = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
  return Math.max(FIRST_MS, longest * (0.5 + random / 2));
}

/** How long the other hosts may take after the first answer: a silent host must not delay a failover. */
const HOST_TIMEOUT_MS = 1000;
/** The same after a primary has answered: a primary of a later timeline, if any, answers about as fast. */
const RIVAL_MS = 200;
/** How long a primary without connections counts as one. */
const UNSEEN_MS = 1000;
/** The first answer, with its code, of a server that starts, stops or is full. A refused login is no reason to wait. */
const BUSY = /^E.*\0C(?:57P|53)/s;
const APART_MS = 1000;

/**
 * The access of this process to one database: it knows which host is currently the primary. All clients with the same
 * URL use it, so that after a failover one of them asks and the others wait for the answer.
 *
 * The driver (postgres 3.4.9) could choose among hosts itself. But it accepts a standby for `read-write`, retries
 * unreachable hosts in a busy loop, and supports neither IPv6 nor sockets together with other hosts.
 */
export class Route {
  readonly address: DatabaseAddress;
  /** The primary that was found last. */
  #current: { server: Server; foundAt: number } | undefined;
  #finding: Promise<Server> | undefined;
  /** Unanswered questions: a silent host is not asked again meanwhile. */
  readonly #asked = new Map<DatabaseHost, Promise<HostRole>>();
  readonly #sessions = new Map<Socket, Server>();
  #failures = 0;
  /** No connection is attempted until then. */
  #pausesUntil = 0;

  constructor(url: string) {
    this.address = parseDatabaseUrl(url);
  }

  /**
   * Opens a connection to the primary.
   * @throws NotConnected, or the database's own login error
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

  /** The host for connections; undefined while it is unknown. */
  get host(): DatabaseHost | undefined {
    return this.#current?.server;
  }

  /** The last primary may no longer be one: the next connection asks again. */
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
      // The previous server may return outdated data.
      for (const [socket, old] of this.#sessions)
        if (old.host !== server.host || old.port !== server.port) socket.destroy();
      return server;
    } catch (error) {
      this.#pause();
      throw error;
    }
  }

  /** The hosts' answers, without hosts that are silent for too long. */
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
    // Runs before the stream's own listener, which ends what the server has ended. A client that ends a session did so earlier.
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
      // This may be the first sign of a failover.
      this.leave();
      if (isBusy) this.#pause();
    });
  }

  /** Failures far apart, as of occasional commands, do not add up. */
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
  // A database's own message, such as a missing database, says more than the absence of others.
  const words = problems.find((problem) => problem instanceof postgres.PostgresError);
  if (words !== undefined) throw words;
  const texts = problems.map((problem) => (problem instanceof Error ? problem.message : String(problem)));
  const message = `No host is a primary that takes changes: ${texts.join("; ") || "none answers"}`;
  throw new NotConnected(Object.assign(new Error(message), { code: "NO_PRIMARY" }));
}

const routes = new Map<string, Route>();

/** The route of this process to the database at a URL. */
export function routeTo(url: string): Route {
  const route = routes.get(url) ?? new Route(url);
  routes.set(url, route);
  return route;
}

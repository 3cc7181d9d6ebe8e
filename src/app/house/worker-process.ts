import type { ChildProcess, Serializable } from "node:child_process";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { SECOND_MS } from "../../domain/time/units.ts";
import { FairQueue } from "../../server/shared-port/fair-queue.ts";
import { Supervised, type SupervisedOptions } from "../serve/supervisor.ts";
import { apartProblem, Blame } from "./blame.ts";
import type { Answer, FromWorker, HouseTerms, Question, Resident, ToWorker } from "./messages.ts";

/** How long a connection waits for a worker that starts, or has many to take. */
const PATIENCE_MS = 30 * SECOND_MS;
const MOST_WAITING = 4096;

interface Newcomer {
  socket: Socket;
  head: Buffer;
  /** Ends the wait. */
  timer: NodeJS.Timeout;
}

/** When a worker that runs counts as hung. */
export interface LifePolicy {
  /** How long it may take from its start until it serves. */
  startMs: number;
  /** Between an answer and the next question whether it lives. */
  everyMs: number;
  /** How long a question waits for its answer. */
  answerMs: number;
  /** So many questions in a row without an answer, and it is killed. */
  misses: number;
}

/** Killed some 12 s after its last answer. A start takes a second, many times that on a busy machine. */
export const LIFE_POLICY: LifePolicy = {
  startMs: 60 * SECOND_MS,
  everyMs: SECOND_MS,
  answerMs: 2 * SECOND_MS,
  misses: 4,
};

export interface WorkerOptions extends Omit<SupervisedOptions, "onStart"> {
  /** Gets what the worker did wrong, as a sentence about it: that it hangs and is killed, or what it did when it ended. */
  onProblem(problem: string): void;
}

/** A worker as the house sees it: a process that is started again when it ends. */
export class WorkerProcess {
  readonly supervised: Supervised;
  #child: ChildProcess | undefined;
  #isReady = false;
  readonly #ready = Promise.withResolvers<void>();
  /**
   * Connections that it has not been given yet. Node's channel passes one at a time, in the order of sending, and what a worker
   * is asked waits behind them: so they wait here, where a tenant's many are not ahead of another one's few.
   */
  readonly #waiting = new FairQueue<string | undefined, Newcomer>();
  /** The one that waits in the channel. */
  #handing: Socket | undefined;
  readonly #asked = new Map<number, (answer: Answer) => void>();
  #lastAsked = 0;
  readonly #openings = new Blame();
  readonly #life: LifePolicy;
  readonly #onProblem: WorkerOptions["onProblem"];
  /** Ends the wait for a start. */
  #stopWaiting = () => {};
  /** Questions in a row that it has not answered in time. */
  #misses = 0;

  constructor(terms: HouseTerms, { onProblem, ...options }: WorkerOptions, life = LIFE_POLICY) {
    this.#life = life;
    this.#onProblem = onProblem;
    this.supervised = new Supervised({
      ...options,
      onStart: (child) => this.#begin(child, terms),
    });
  }

  /** Whether it runs and answers. */
  get isServing(): boolean {
    return this.#isReady && this.#misses === 0;
  }

  /** Resolves once it served for the first time. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Gives it a connection of which these bytes were read, in turn, and once it is ready.
   * @param tenant undefined for a host of none
   */
  give(socket: Socket, head: Buffer, tenant: string | undefined): void {
    if (this.#waiting.size >= MOST_WAITING) leave(this.#waiting.drop());
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MS).unref();
    this.#waiting.add(tenant, { socket, head, timer });
    this.#handOver();
  }

  /** Tells it of a tenant more. One that starts finds it among its terms. */
  admit(resident: Resident): void {
    this.#send({ kind: "resident", resident });
  }

  drain(): void {
    if (this.#isReady) this.#send({ kind: "drain" });
  }

  /** Resolves to null where it does not serve, or does not answer in time. */
  ask(question: Question): Promise<Answer> {
    if (!this.#isReady) return Promise.resolve(null);
    this.#lastAsked += 1;
    const id = this.#lastAsked;
    return new Promise<Answer>((resolve) => {
      const timer = setTimeout(() => resolve(null), this.#life.answerMs).unref();
      this.#asked.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.#send({ kind: "ask", id, question });
    }).finally(() => this.#asked.delete(id));
  }

  #begin(child: ChildProcess, terms: HouseTerms): void {
    this.#child = child;
    child.on("message", (message: FromWorker) => this.#hear(message));
    const late = setTimeout(() => {
      this.#onProblem(`has not begun to serve within ${this.#life.startMs / SECOND_MS} s and is killed`);
      child.kill("SIGKILL");
    }, this.#life.startMs);
    this.#stopWaiting = () => clearTimeout(late);
    child.once("exit", () => {
      this.#stopWaiting();
      this.#isReady = false;
      this.#misses = 0;
      this.#handing?.destroy();
      this.#handing = undefined;
      for (const answer of this.#asked.values()) answer(null);
    });
    // Only then its last messages have been heard.
    child.once("close", (code: number | null) => this.#blame(code !== 0));
    const { suspects, apart } = this.#openings;
    this.#send({ ...terms, suspects, apart });
  }

  #blame(failed: boolean): void {
    const blamed = this.#openings.workerEnded(failed);
    if (blamed.length > 0) this.#onProblem(`ended while it opened ${blamed.join(", ")}`);
    for (const tenant of this.#openings.apart)
      if (blamed.includes(tenant)) this.#onProblem(`serves ${tenant} no longer: ${apartProblem(tenant)}`);
  }

  /**
   * Kills a process that has stopped answering. Questions are counted, not seconds: a house that was itself suspended
   * finds one unanswered when it goes on, and asks again.
   */
  async #watch(child: ChildProcess): Promise<void> {
    const { everyMs, misses } = this.#life;
    for (;;) {
      await delay(everyMs, undefined, { ref: false });
      const answer = await this.ask({ about: "life" });
      if (child !== this.#child || !this.#isReady) return;
      this.#misses = answer === null ? this.#misses + 1 : 0;
      if (this.#misses < misses) continue;
      this.#onProblem("does not answer and is killed");
      child.kill("SIGKILL");
      return;
    }
  }

  #hear(message: FromWorker): void {
    switch (message.kind) {
      case "answer":
        this.#asked.get(message.id)?.(message.answer);
        break;
      case "opening":
        this.#openings.begin(message.tenant);
        break;
      case "opened":
        this.#openings.end(message.tenant);
        break;
      case "ready":
        this.#serve();
    }
  }

  #serve(): void {
    this.#stopWaiting();
    this.#isReady = true;
    this.#ready.resolve();
    if (this.#child) void this.#watch(this.#child);
    this.#handOver();
  }

  /** While one is in the channel, and another one behind it, the channel is never idle. */
  #handOver(): void {
    while (this.#isReady && !this.#handing) {
      const next = this.#waiting.take();
      if (!next) return;
      const { socket, head, timer } = next;
      clearTimeout(timer);
      if (socket.destroyed) continue;
      this.#handing = socket;
      this.#send({ kind: "connection", head: head.toString("latin1") }, socket, () => {
        if (this.#handing === socket) this.#handing = undefined;
        this.#handOver();
      });
    }
  }

  #send(message: ToWorker & Serializable, socket?: Socket, onSent?: () => void): void {
    // Node would keep a connection until the process confirms it, and for ever where that has just ended: kept open here, and
    // closed once it is sent, it ends with the process that it was sent to.
    this.#child?.send(message, socket, { keepOpen: true }, () => {
      socket?.destroy();
      onSent?.();
    });
  }
}

function leave(newcomer: Newcomer | undefined): void {
  clearTimeout(newcomer?.timer);
  newcomer?.socket.destroy();
}

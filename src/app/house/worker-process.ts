import type { ChildProcess, Serializable } from "node:child_process";
import type { Socket } from "node:net";
import { SECOND_MS } from "../../domain/time/units.ts";
import { Supervised, type SupervisedOptions } from "../serve/supervisor.ts";
import type { Answer, FromWorker, HouseTerms, Question, ToWorker } from "./messages.ts";

/** How long a connection waits for a worker that starts, and a question for its answer. */
const PATIENCE_MS = 30 * SECOND_MS;
const MOST_HELD = 4096;

/** A worker as the house sees it: a process that is started again when it ends. */
export class WorkerProcess {
  readonly supervised: Supervised;
  #child: ChildProcess | undefined;
  #isReady = false;
  readonly #ready = Promise.withResolvers<void>();
  /** Connections that wait until it is ready. */
  readonly #held = new Set<{ socket: Socket; head: Buffer }>();
  readonly #asked = new Map<number, (answer: Answer) => void>();
  #lastAsked = 0;

  constructor(terms: HouseTerms, options: Omit<SupervisedOptions, "onStart">) {
    this.supervised = new Supervised({
      ...options,
      onStart: (child) => this.#begin(child, terms),
    });
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Resolves once it served for the first time. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Gives it a connection of which these bytes were read; one that comes while it starts is held. */
  give(socket: Socket, head: Buffer): void {
    if (this.#isReady) {
      this.#send({ kind: "connection", head: head.toString("latin1") }, socket);
      return;
    }
    if (this.#held.size >= MOST_HELD) return void socket.destroy();
    const held = { socket, head };
    this.#held.add(held);
    setTimeout(() => this.#held.delete(held) && socket.destroy(), PATIENCE_MS).unref();
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
      const timer = setTimeout(() => resolve(null), PATIENCE_MS).unref();
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
    child.once("exit", () => {
      this.#isReady = false;
      for (const answer of this.#asked.values()) answer(null);
    });
    this.#send(terms);
  }

  #hear(message: FromWorker): void {
    if (message.kind === "answer") {
      this.#asked.get(message.id)?.(message.answer);
      return;
    }
    this.#isReady = true;
    this.#ready.resolve();
    for (const { socket, head } of this.#held) this.give(socket, head);
    this.#held.clear();
  }

  #send(message: ToWorker & Serializable, socket?: Socket): void {
    // A process that has just ended takes no message; its connections end with it.
    this.#child?.send(message, socket, (error) => {
      if (error) socket?.destroy();
    });
  }
}

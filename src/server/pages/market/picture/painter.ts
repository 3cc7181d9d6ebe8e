import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { Fault } from "../../../../domain/fault.ts";
import { BoundedCache } from "../../../access/bounded-cache.ts";
import type { Drawing } from "./svg.ts";

/** A picture has some 40 KB. */
const KEPT_PICTURES = 128;
/** Some three seconds of work. */
const MOST_WAITING = 32;
/** So that one client cannot take all places of the others. */
const MOST_OF_A_CLIENT = 4;
/** A picture takes a tenth of a second; the thread of one that takes so long is ended. */
const LONGEST_MS = 15_000;
/** The thread's 60 MB are given back after such a pause. */
const IDLE_MS = 60_000;
const FILE = new URL(import.meta.filename.endsWith(".ts") ? "./draw-worker.ts" : "./draw-worker.js", import.meta.url);

type Png = Uint8Array<ArrayBuffer>;

/** Draws pictures one after the other in a thread of its own, and keeps those drawn last. */
export class Painter {
  readonly #mostWaiting: number;
  readonly #kept = new BoundedCache<Png>(KEPT_PICTURES);
  readonly #underway = new Map<string, Promise<Png>>();
  /** How many of the pictures underway each client caused. */
  readonly #caused = new Map<string, number>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** How many pictures were drawn, and not found among those kept. */
  drawn = 0;

  /** @param mostWaiting pictures that wait or are drawn; more are refused */
  constructor(mostWaiting = MOST_WAITING) {
    this.#mostWaiting = mostWaiting;
  }

  /** The name of a drawing: equal ones have equal names, and equal pictures. */
  nameOf(drawing: Drawing): string {
    return createHash("sha256").update(JSON.stringify(drawing)).digest("base64url").slice(0, 22);
  }

  /**
   * The picture as PNG; requests for equal drawings share one.
   * @param client the bucket of its address
   * @throws Fault OVERLOADED when too many wait, of all or of the client, INTERNAL when it cannot be drawn
   */
  async paint(drawing: Drawing, client: string): Promise<Png> {
    const name = this.nameOf(drawing);
    const known = this.#kept.get(name) ?? this.#underway.get(name);
    if (known) return known;
    const caused = this.#caused.get(client) ?? 0;
    if (this.#underway.size >= this.#mostWaiting || caused >= MOST_OF_A_CLIENT)
      throw new Fault("OVERLOADED", "Too many pictures are asked for at once");
    const picture = this.#last.then(() => this.#draw(drawing));
    this.#underway.set(name, picture);
    this.#caused.set(client, caused + 1);
    // The next one begins after a failure too; its own request is told of it.
    this.#last = picture.then(
      (png) => this.#kept.set(name, png),
      () => undefined,
    );
    return picture.finally(() => {
      this.#underway.delete(name);
      const left = (this.#caused.get(client) ?? 1) - 1;
      if (left > 0) this.#caused.set(client, left);
      else this.#caused.delete(client);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #draw(drawing: Drawing): Promise<Png> {
    clearTimeout(this.#idle);
    this.#worker ??= startWorker();
    const worker = this.#worker;
    const { promise, resolve, reject } = Promise.withResolvers<Png>();
    const fail = (cause: unknown): void => reject(new Fault("INTERNAL", "The picture cannot be drawn", { cause }));
    const late = setTimeout(() => fail(new Error(`not drawn within ${LONGEST_MS} ms`)), LONGEST_MS).unref();
    worker.once("message", resolve).once("error", fail).once("exit", fail);
    worker.ref();
    worker.postMessage(drawing);
    return promise
      .then(
        (png) => {
          this.drawn += 1;
          this.#rest(worker);
          return png;
        },
        async (error: unknown) => {
          await this.close();
          throw error;
        },
      )
      .finally(() => {
        clearTimeout(late);
        worker.off("message", resolve).off("error", fail).off("exit", fail);
      });
  }

  #rest(worker: Worker): void {
    // A process may end while nothing is drawn.
    worker.unref();
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }
}

function startWorker(): Worker {
  return new Worker(FILE, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 256 } });
}

import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { Fault } from "../../../../domain/fault.ts";
import { BoundedCache } from "../../../access/bounded-cache.ts";
import type { Drawing } from "./svg.ts";

/** A picture has about 40 KB. */
const KEPT_PICTURES = 128;
/** About three seconds of work. */
const MOST_WAITING = 32;
/** Prevents one client from taking all places. */
const MOST_OF_A_CLIENT = 4;
/** A picture takes a tenth of a second. A thread that takes this long is ended. */
const LONGEST_MS = 15_000;
/** After this pause the thread's 60 MB are released. */
const IDLE_MS = 60_000;
const FILE = new URL(import.meta.filename.endsWith(".ts") ? "./draw-worker.ts" : "./draw-worker.js", import.meta.url);

type Png = Uint8Array<ArrayBuffer>;

/** Draws pictures one at a time in its own thread, and keeps the latest ones. */
export class Painter {
  readonly #mostWaiting: number;
  readonly #kept = new BoundedCache<Png>(KEPT_PICTURES);
  readonly #underway = new Map<string, Promise<Png>>();
  /** The number of pictures in progress for each client. */
  readonly #caused = new Map<string, number>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** The number of pictures drawn, not counting those found in the cache. */
  drawn = 0;

  /** @param mostWaiting the most pictures that may wait or be in progress */
  constructor(mostWaiting = MOST_WAITING) {
    this.#mostWaiting = mostWaiting;
  }

  /** The name of a drawing. Equal drawings have equal names and pictures. */
  nameOf(drawing: Drawing): string {
    return createHash("sha256").update(JSON.stringify(drawing)).digest("base64url").slice(0, 22);
  }

  /**
   * The picture as PNG; requests for equal drawings share one.
   * @param client the bucket of the client's address
   * @throws Fault OVERLOADED if too many pictures wait, in total or for the client, INTERNAL if drawing fails
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
    // The next drawing begins after a failure too; the failed request gets its own error.
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
    // The process may exit while nothing is drawn.
    worker.unref();
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }
}

function startWorker(): Worker {
  return new Worker(FILE, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 256 } });
}

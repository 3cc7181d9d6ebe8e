import type { Socket } from "node:net";

/** A client that lags further behind is dropped, because the server's memory holds its unread bytes. */
const MAX_BUFFERED_BYTES = 256 * 1024;
/** How long a dropped client may read its last event. */
const LINGER_MS = 5_000;

/** One event in the server-sent events format. Only the last event of an entry has an id, so resuming skips no event. */
export function formatEvent(name: string, data: unknown, id?: bigint): string {
  return `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** The answer to one client: text, sent as fast as the client reads, within bounds. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #socket: Socket;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #onEnd: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      this.#controller = controller;
    };
    const strategy = { highWaterMark: MAX_BUFFERED_BYTES, size: (chunk: Uint8Array) => chunk.byteLength };
    this.body = new ReadableStream({ start, cancel: () => this.#finish() }, strategy);
    // A client that ends its side has left, although the connection may last until the next event is written.
    socket.once("end", this.#onClose).once("close", this.#onClose);
  }

  readonly #onClose = (): void => {
    this.#controller?.close();
    this.#finish();
  };

  /** Called once, however the stream ends. */
  set onEnd(listener: () => void) {
    this.#onEnd = listener;
  }

  get ended(): boolean {
    return this.#controller === undefined;
  }

  send(text: string): void {
    const bytes = Buffer.from(text);
    if ((this.#controller?.desiredSize ?? 0) < bytes.length) this.end("slow");
    else this.#controller?.enqueue(bytes);
  }

  /** Tells the client the reason and when to reconnect: at a random time, so that clients do not return all at once. */
  end(reason: "slow" | "credentials" | "shutdown"): void {
    const controller = this.#controller;
    if (!controller) return;
    const retryMs = 1000 + Math.floor(Math.random() * 2000);
    controller.enqueue(Buffer.from(`retry: ${retryMs}\n${formatEvent("resync", { reason })}`));
    controller.close();
    this.#finish();
    if (reason === "slow") setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#socket.off("end", this.#onClose).off("close", this.#onClose);
    this.#onEnd();
  }
}

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";

export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

export interface ReceivedEvent {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** How a receiver answers. */
export type Behaviour = (res: ServerResponse, req: IncomingMessage) => void;

export const answer =
  (status: number, headers: Record<string, string> = {}, body = ""): Behaviour =>
  (res) => {
    res.writeHead(status, headers).end(body);
  };
export const hang: Behaviour = () => {};
/** Promises more than it sends. */
export const dieMidBody: Behaviour = (res) => {
  res.writeHead(200, { "content-length": "100" });
  res.write("half", () => res.destroy());
};

/** A receiver that checks every delivery with the official library. */
export class TestReceiver {
  url = "";
  /** In order of arrival, repeats too. */
  readonly received: ReceivedEvent[] = [];
  readonly headers: IncomingMessage["headers"][] = [];
  behave: Behaviour = answer(204);
  /** What the library did not accept. */
  readonly forgeries: unknown[] = [];
  readonly #secret: string;
  readonly #server = createServer((req, res) => void this.#receive(req, res));

  constructor(secret = SECRET) {
    this.#secret = secret;
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
    return this;
  }

  /** The ids that arrived, each once. */
  get ids(): Set<string> {
    return new Set(this.received.map(({ id }) => id));
  }

  /** Waits until so many different events arrived. */
  async until(count: number): Promise<void> {
    while (this.ids.size < count) await delay(20);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    try {
      new Webhook(this.#secret).verify(body, req.headers as Record<string, string>);
    } catch (error) {
      this.forgeries.push(error);
    }
    this.headers.push(req.headers);
    this.received.push({ id: String(req.headers["webhook-id"]), ...(JSON.parse(body) as Omit<ReceivedEvent, "id">) });
    this.behave(res, req);
  }
}

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";

/** Between two looks at a server's `/readyz`. */
const CHECK_MS = 100;

/** A server behind the balancer. */
export interface Backend {
  url: string;
  opsUrl: string;
}

/**
 * A balancer of connections, as HAProxy in TCP mode: each goes to the next server whose last check was good. It learns that a
 * server leaves by that check alone, and never tries a second server for a connection.
 */
export class Balancer {
  readonly #backends = new Map<Backend, { ready: boolean }>();
  readonly #server: Server;
  #next = 0;
  #closed = false;

  private constructor() {
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      const ready = [...this.#backends].flatMap(([backend, state]) => (state.ready ? [backend] : []));
      const backend = ready[this.#next++ % ready.length];
      if (!backend) return void client.destroy();
      const upstream = connect({ port: Number(new URL(backend.url).port), host: "127.0.0.1", allowHalfOpen: true });
      // An upstream that cannot be reached is what the tests look for: its client is cut, too.
      upstream.on("error", () => client.destroy());
      client.on("error", () => upstream.destroy());
      client.pipe(upstream).pipe(client);
    });
  }

  static async open(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#server.listen(0, "127.0.0.1");
    await once(balancer.#server, "listening");
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves once the server takes part. */
  async add(backend: Backend): Promise<void> {
    const state = { ready: false };
    this.#backends.set(backend, state);
    await this.#check(backend, state);
    const repeat = async () => {
      while (!this.#closed && this.#backends.has(backend)) {
        await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
        await this.#check(backend, state);
      }
    };
    void repeat();
  }

  remove(backend: Backend): void {
    this.#backends.delete(backend);
  }

  close(): void {
    this.#closed = true;
    this.#server.close();
  }

  async #check({ opsUrl }: Backend, state: { ready: boolean }): Promise<void> {
    state.ready = await fetch(`${opsUrl}/readyz`).then(
      async (response) => (await response.text()) !== "" && response.ok,
      () => false,
    );
  }
}

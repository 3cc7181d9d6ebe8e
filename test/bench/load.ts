import { connect, type Socket } from "node:net";

/** One client's request, ready to be written. */
export type NextRequest = (client: number, turn: number) => Buffer;

export interface LoadResult {
  requests: number;
  seconds: number;
  perSecond: number;
  /** Answers by status. */
  statuses: Map<number, number>;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

/**
 * Keep-alive clients with one request in flight each, over raw sockets: on two cores a full HTTP client would take
 * more of the machine than the server that is measured.
 */
export async function runLoad(
  port: number,
  { clients, seconds, next }: { clients: number; seconds: number; next: NextRequest },
): Promise<LoadResult> {
  const statuses = new Map<number, number>();
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  await Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)));
  const elapsed = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    requests: latencies.length,
    seconds: elapsed,
    perSecond: latencies.length / elapsed,
    statuses,
    p50: at(0.5),
    p99: at(0.99),
  };

  async function runClient(client: number): Promise<void> {
    const socket = await open(port);
    const exchange = exchanger(socket);
    for (let turn = 0; performance.now() < endsAt; turn++) {
      const sentAt = performance.now();
      const status = await exchange(next(client, turn));
      latencies.push(performance.now() - sentAt);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    socket.destroy();
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** Sends a request and resolves to the status of its answer, whose end `Content-Length` tells. */
function exchanger(socket: Socket): (request: Buffer) => Promise<number> {
  let pending: Buffer = Buffer.alloc(0);
  let waiting: { resolve: (status: number) => void; reject: (error: Error) => void } | undefined;
  socket.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const end = pending.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = pending.toString("latin1", 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (pending.length < end + 4 + length) return;
    pending = pending.subarray(end + 4 + length);
    waiting?.resolve(Number(head.slice(9, 12)));
  });
  socket.on("close", () => waiting?.reject(new Error("The server closed the connection")));
  socket.on("error", (error) => waiting?.reject(error));
  return (request) =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject };
      socket.write(request);
    });
}

/** The bytes of a request with a JSON body, or of a GET without one. */
export function request(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Record<string, unknown>,
): Buffer {
  const text = body === undefined ? "" : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, "host: localhost"];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body) lines.push("content-type: application/json", `content-length: ${Buffer.byteLength(text)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}`);
}

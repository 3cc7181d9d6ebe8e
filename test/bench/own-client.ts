import { connect, type Socket } from "node:net";
import { percentile } from "./figures.ts";
import type { Load, LoadResult } from "./load.ts";

/** Load over raw sockets: on two cores a full HTTP client would take more of the machine than the server that is measured. */
export async function runOwnClient(port: number, { connections, seconds, requests }: Load): Promise<LoadResult> {
  const latencies: number[] = [];
  let sent = 0;
  let failed = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const runConnection = async () => {
    const socket = await open(port);
    const exchange = exchanger(socket);
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      const status = await exchange(requests[sent++ % requests.length] ?? Buffer.alloc(0));
      latencies.push(performance.now() - sentAt);
      if (status < 200 || status > 299) failed += 1;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, runConnection));
  const elapsed = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    requests: latencies.length,
    perSecond: latencies.length / elapsed,
    failed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
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

/** Other clients, in a process of their own: what is measured is the service, and not how busy an attacker's process is. */
import { Agent, type RequestOptions, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { PUBLIC_KEY } from "../bench/scene.ts";
import type { Ports } from "./arena.ts";

export interface Served {
  answers: number;
  /** Answers other than 200 and connections that failed, by what they were. */
  failures: Record<string, number>;
  /** Milliseconds, the connecting included. */
  p50: number;
  p99: number;
  max: number;
}

const PAUSE_MS = 800;
const PATHS = ["/health", "/v1/markets", "/v1/markets/trending"];

export interface ClientTerms {
  ports: Ports;
  /** Of each kind. */
  clients: number;
  seconds: number;
}

export interface Measured {
  /** Clients that keep their connection. */
  kept: Served;
  /** Clients that open one for each request. */
  fresh: Served;
  /** What an orchestrator sees of `/livez`, on a new connection each time. */
  livez: Served;
}

/** Each client is an address of its own. */
function client({ port }: Ports, subnet: number, keepAlive: boolean): (index: number) => Client {
  return (index) => {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    const localAddress = `127.0.${subnet}.${1 + index}`;
    const options = { port, host: "127.0.0.1", localAddress, agent, headers: { "x-api-key": PUBLIC_KEY } };
    return { end: () => agent.destroy(), get: (turn) => get({ ...options, path: PATHS[turn % PATHS.length] ?? "/" }) };
  };
}

interface Client {
  get(turn: number): Promise<number>;
  end(): void;
}

async function measure(seconds: number, clients: number, make: (index: number) => Client): Promise<Served> {
  const times: number[] = [];
  const failures: Record<string, number> = {};
  const endsAt = performance.now() + seconds * 1000;
  const run = async (index: number): Promise<void> => {
    const client = make(index);
    await delay((PAUSE_MS * index) / clients);
    for (let turn = index; ; turn += 1) {
      const startedAt = performance.now();
      const outcome = await client.get(turn).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
      times.push(performance.now() - startedAt);
      if (outcome !== 200) failures[outcome] = (failures[outcome] ?? 0) + 1;
      if (performance.now() + PAUSE_MS >= endsAt) break;
      await delay(PAUSE_MS);
    }
    client.end();
  };
  await Promise.all(Array.from({ length: clients }, (_, index) => run(index)));
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  return { answers: times.length, failures, p50: at(0.5), p99: at(0.99), max: at(1) };
}

function get(options: RequestOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(options, (res) => {
      res.resume().once("end", () => resolve(res.statusCode ?? 0));
    });
    asked.setTimeout(10_000, () => asked.destroy(new Error("no answer in 10 s")));
    asked.once("error", reject).end();
  });
}

const { ports, clients, seconds } = JSON.parse(process.argv[2] ?? "") as ClientTerms;
const probe = { port: ports.opsPort, host: "127.0.0.1", agent: false, path: "/livez" } as const;
const [kept, fresh, livez] = await Promise.all([
  measure(seconds, clients, client(ports, 1, true)),
  measure(seconds, clients, client(ports, 2, false)),
  measure(seconds, 1, () => ({ end: () => {}, get: () => get(probe) })),
]);
process.send?.({ kept, fresh, livez } satisfies Measured);
process.disconnect();

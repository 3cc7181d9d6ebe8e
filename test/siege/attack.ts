/** Hostile connections, in a process of their own, so that they do not take the time of the clients that are measured. */
import { connect, type Socket } from "node:net";
import { constants, setPriority } from "node:os";
import { PUBLIC_KEY } from "../bench/scene.ts";
import type { AttackOutcome, Ports } from "./arena.ts";

export interface AttackTerms {
  ports: Ports;
  connections: number;
  /** How many addresses they come from: 127.0.0.2 and those behind it. */
  addresses: number;
  /** In turn. */
  kinds: Kind[];
  /** Opened a second at most, so that the system's own queue of connections holds them. */
  perSecond: number;
}

/** What a hostile connection does once it is open; until it is closed, when another one takes its place. */
const KINDS = {
  silent: () => {},
  slowHeaders: (socket) => {
    socket.write("GET /health HTTP/1.1\r\n");
    drip(socket, "x: y\r\n");
  },
  slowBody: (socket) => {
    socket.write("POST /payments/inbound/bench HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\n\r\n");
    drip(socket, "x");
  },
  slowReader: (socket) => {
    socket.pause();
    socket.write("GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(5));
  },
  unreadStream: (socket) => {
    socket.pause();
    socket.write(`GET /v1/stream HTTP/1.1\r\nhost: x\r\nx-api-key: ${PUBLIC_KEY}\r\n\r\n`);
  },
  flood: (socket) => {
    const next = () => void socket.write("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.on("data", next);
    next();
  },
  /** Asks until it is refused, once more, and stays. */
  refused: (socket) => {
    const next = () => void socket.write("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.on("data", (chunk) => {
      if (!chunk.includes("HTTP/1.1 429")) next();
    });
    next();
  },
  malformed: (socket) => void socket.write("\x16\x03rubbish\r\n\r\n"),
  /** The beginning of a ClientHello. */
  handshake: (socket) => void socket.write(Buffer.from("1603010200010001fc0303", "hex")),
} satisfies Record<string, (socket: Socket) => void>;
export type Kind = keyof typeof KINDS;

const DRIP_MS = 2000;
const REOPEN_MS = 2000;
const TICK_MS = 20;

function drip(socket: Socket, bytes: string): void {
  const timer = setInterval(() => socket.write(bytes), DRIP_MS);
  socket.once("close", () => clearInterval(timer));
}

// Attackers have machines of their own: here they take what the service leaves of the processor.
setPriority(constants.priority.PRIORITY_LOW);
const { ports, connections, addresses, kinds, perSecond } = JSON.parse(process.argv[2] ?? "") as AttackTerms;
const opened: Record<string, number> = {};
const sockets = new Set<Socket>();
let stopping = false;

function attack(index: number): void {
  if (stopping) return;
  const kind = kinds[Math.floor(index / addresses) % kinds.length] ?? "silent";
  const localAddress = `127.0.0.${2 + (index % addresses)}`;
  const port = kind === "handshake" ? ports.tlsPort : ports.port;
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  sockets.add(socket);
  opened[kind] = (opened[kind] ?? 0) + 1;
  socket.on("error", () => {}).once("connect", () => KINDS[kind](socket));
  socket.once("close", () => {
    sockets.delete(socket);
    setTimeout(() => attack(index), REOPEN_MS).unref();
  });
  if (kind !== "slowReader" && kind !== "unreadStream") socket.resume();
}

let next = 0;
const timer = setInterval(() => {
  const until = Math.min(connections, next + Math.ceil((perSecond * TICK_MS) / 1000));
  for (; next < until; next += 1) attack(next);
  if (next < connections) return;
  clearInterval(timer);
  process.send?.("open");
}, TICK_MS);

process.on("message", () => {
  stopping = true;
  for (const socket of sockets) socket.destroy();
  const { user, system } = process.cpuUsage();
  const cpuPercent = Math.round((user + system) / 10 / performance.now());
  process.send?.({ opened, cpuPercent } satisfies AttackOutcome);
  process.disconnect();
});

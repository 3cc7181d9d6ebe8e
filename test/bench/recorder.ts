import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";

/** What a client sent on one connection: its start, and then each run of messages that the server answers as one. */
export interface Recording {
  /** Parameters of the connection's start, such as `application_name`. */
  start: ReadonlyMap<string, string>;
  flights: Buffer[];
}

const PROTOCOL_3 = 0x0003_0000;
/** A sync or a simple query: the server answers either with one ReadyForQuery. */
const ENDS_FLIGHT = new Set(["S", "Q"].map((letter) => letter.charCodeAt(0)));
const READY_FOR_QUERY = "Z".charCodeAt(0);
/** A message is its kind, and its length without the kind. */
const HEADER = 5;

/** Stands between a client and the server of a cluster, passes all on, and keeps what the client sends. */
export async function startRecorder(
  directory: string,
  { host, port }: ClusterConnection,
): Promise<{ host: string; recordings: Recording[]; close(): Promise<void> }> {
  const recordings: Recording[] = [];
  const server = createServer((client) => {
    const upstream = connect(join(host, `.s.PGSQL.${port}`));
    const record = recorder(recordings);
    client.on("data", record);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) socket.on("error", () => {});
  });
  const path = join(directory, `.s.PGSQL.${port}`);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    host: directory,
    recordings,
    close: async () => {
      await new Promise((resolve) => server.close(resolve));
      await rm(path, { force: true });
    },
  };
}

/** Takes a client's bytes as they come. */
function recorder(recordings: Recording[]): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let recording: Recording | undefined;
  let scanned = 0;
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    if (!recording) {
      if (pending.length < 4 || pending.length < pending.readUInt32BE(0)) return;
      const length = pending.readUInt32BE(0);
      recording = { start: readStart(pending.subarray(8, length)), flights: [] };
      recordings.push(recording);
      pending = pending.subarray(length);
    }
    while (pending.length >= scanned + HEADER) {
      const kind = pending[scanned] ?? 0;
      const end = scanned + 1 + pending.readUInt32BE(scanned + 1);
      if (pending.length < end) return;
      scanned = end;
      if (!ENDS_FLIGHT.has(kind)) continue;
      recording.flights.push(pending.subarray(0, end));
      pending = pending.subarray(end);
      scanned = 0;
    }
  };
}

function readStart(bytes: Buffer): Map<string, string> {
  const words = bytes.toString("utf8").split("\0");
  const start = new Map<string, string>();
  for (let at = 0; at + 1 < words.length && words[at] !== ""; at += 2) start.set(words[at] ?? "", words[at + 1] ?? "");
  return start;
}

function startMessage(start: ReadonlyMap<string, string>): Buffer {
  const text = Buffer.from(`${[...start].map((pair) => `${pair.join("\0")}\0`).join("")}\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + text.length, 0);
  head.writeUInt32BE(PROTOCOL_3, 4);
  return Buffer.concat([head, text]);
}

/** Sends a recording to another database, each run of messages when the one before is answered: no client is quicker. */
export async function replay(
  { start, flights }: Recording,
  { host, port, database }: ClusterConnection,
): Promise<void> {
  const socket = connect(join(host, `.s.PGSQL.${port}`));
  const answered = readiness(socket);
  for (const bytes of [startMessage(new Map(start).set("database", database)), ...flights]) {
    socket.write(bytes);
    await answered();
  }
  socket.removeAllListeners("close").destroy();
}

/** @returns waits for the server's next ReadyForQuery; rejects at its first error */
function readiness(socket: Socket): () => Promise<void> {
  let pending: Buffer = Buffer.alloc(0);
  let waiting = Promise.withResolvers<void>();
  socket.on("error", (error) => waiting.reject(error));
  socket.on("close", () => waiting.reject(new Error("The database closed the connection")));
  socket.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER && pending.length > pending.readUInt32BE(1)) {
      const length = 1 + pending.readUInt32BE(1);
      const kind = pending[0];
      if (kind === "E".charCodeAt(0)) waiting.reject(new Error(pending.toString("utf8", HEADER, length)));
      if (kind === READY_FOR_QUERY) waiting.resolve();
      pending = pending.subarray(length);
    }
  });
  return async () => {
    await waiting.promise;
    waiting = Promise.withResolvers<void>();
  };
}

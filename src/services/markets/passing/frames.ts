import type { Duplex } from "node:stream";
import { deserialize, serialize } from "node:v8";

/** Beyond this length a message cannot be ours. */
const LONGEST_BYTES = 64 * 2 ** 20;
const LENGTH_BYTES = 4;

/** A message with its length before it, in V8's format, which keeps bigints. Both ends run the same version. */
export function frameOf(message: unknown): Buffer {
  const body = serialize(message);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + body.length);
  frame.writeUInt32LE(body.length);
  body.copy(frame, LENGTH_BYTES);
  return frame;
}

/** Calls back with each message, in order. */
export function onFrames(socket: Duplex, take: (message: unknown) => void): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length >= LENGTH_BYTES) {
      const length = pending.readUInt32LE();
      if (length > LONGEST_BYTES) return void socket.destroy();
      if (pending.length < LENGTH_BYTES + length) return;
      const body = pending.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
      pending = pending.subarray(LENGTH_BYTES + length);
      take(deserialize(body));
    }
  });
}

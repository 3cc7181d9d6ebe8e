import { once } from "node:events";
import { rm } from "node:fs/promises";
import { Socket } from "node:net";
import { invariant } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { selfSigned } from "../doors/self-signed.ts";
import { endStart } from "../serve/heap.ts";
import type { FromWorker, HouseTerms, ToWorker } from "./messages.ts";
import { Worker } from "./worker.ts";

/** Names the certificate for clients that ask for no tenant's name; no tenant can be called so. */
const NO_TENANT = "_";

/** Serves as a worker of the house that started this process, until it is asked to end. */
export async function runWorker(stopped: AbortSignal): Promise<void> {
  // The house may be gone, which ends this process in order.
  const tell = (message: FromWorker) => process.send?.(message, undefined, undefined, () => {});
  const terms = Promise.withResolvers<HouseTerms>();
  const started = Promise.withResolvers<Worker>();
  let worker: Worker | undefined;
  process.on("message", (message: ToWorker, socket: unknown) => {
    switch (message.kind) {
      case "terms":
        return terms.resolve(message);
      case "resident":
        return void started.promise.then((begun) => begun.admit(message.resident));
      case "drain":
        return worker?.drain();
      case "connection":
        // The client may have left on the way.
        if (!(socket instanceof Socket)) return;
        socket.unshift(Buffer.from(message.head, "latin1"));
        return worker?.take(socket);
      case "ask": {
        const { id, question } = message;
        worker?.answer(question).then(
          (answer) => tell({ kind: "answer", id, answer }),
          () => tell({ kind: "answer", id, answer: null }),
        );
      }
    }
  });
  invariant(process.send, "a worker is started by its house");
  const { directory, https, sockets } = await terms.promise;
  const usual = https ? await selfSigned(directory, NO_TENANT, "localhost", wallClockMs()) : undefined;
  const begun = new Worker(await terms.promise, usual, (kind, tenant) => tell({ kind, tenant }));
  await begun.start();
  worker = begun;
  started.resolve(begun);
  tell({ kind: "ready" });
  endStart(() => begun.answered);
  if (!stopped.aborted) await once(stopped, "abort");
  await begun.close();
  // The house was killed and leaves its folder to the workers.
  if (!process.connected) await rm(sockets, { recursive: true, force: true });
}

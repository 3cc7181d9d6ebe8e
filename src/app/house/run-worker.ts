import { once } from "node:events";
import { Socket } from "node:net";
import { invariant } from "../../domain/fault.ts";
import { endStart } from "../serve/heap.ts";
import type { FromWorker, HouseTerms, ToWorker } from "./messages.ts";
import { Worker } from "./worker.ts";

/** Serves as a worker of the house that started this process, until it is asked to end. */
export async function runWorker(stopped: AbortSignal): Promise<void> {
  const tell = (message: FromWorker) => process.send?.(message);
  const terms = Promise.withResolvers<HouseTerms>();
  let worker: Worker | undefined;
  process.on("message", (message: ToWorker, socket: unknown) => {
    switch (message.kind) {
      case "terms":
        return terms.resolve(message);
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
  const begun = new Worker(await terms.promise);
  await begun.start();
  worker = begun;
  tell({ kind: "ready" });
  endStart(() => begun.answered);
  if (!stopped.aborted) await once(stopped, "abort");
  await begun.close();
}

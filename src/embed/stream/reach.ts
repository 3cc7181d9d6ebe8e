import type { HubPort } from "./hub.ts";
import type { HubMessage } from "./messages.ts";
import { Pauses } from "./pauses.ts";

type Listen = (message: HubMessage) => void;

/**
 * The way to the hub: in the shared worker; where the browser has none for this frame, in one of the open frames, which then
 * loads the worker's script as a module of its own. What is sent before the hub is there is lost, and asked for again.
 * @param listen is told `again` when everything is to be sent, at first and whenever the hub is another one
 */
export function reachHub(listen: Listen): HubPort {
  let port: HubPort | undefined;
  const useOwn = async (): Promise<void> => {
    port = undefined;
    port = (await loadHub())(listen);
    listen({ type: "again" });
  };
  port = hubInWorker(listen, useOwn);
  if (port) queueMicrotask(() => listen({ type: "again" }));
  else useOwn();
  return { receive: (message) => port?.receive(message) };
}

/** @param onLost called when its script cannot be loaded, or is refused */
function hubInWorker(listen: Listen, onLost: () => void): HubPort | undefined {
  if (typeof SharedWorker === "undefined") return undefined;
  try {
    const worker = new SharedWorker(STREAM_WORKER, { name: "pm-stream", type: "module" });
    const { port } = worker;
    port.onmessage = ({ data }: MessageEvent<HubMessage>) => listen(data);
    worker.onerror = () => {
      port.close();
      onLost();
    };
    return { receive: (message) => port.postMessage(message) };
  } catch {
    // A browser that partitions or blocks storage may refuse it.
    return undefined;
  }
}

/** The script may be missing for as long as the server is. */
async function loadHub(): Promise<typeof import("./crew.ts").hubInPage> {
  const pauses = new Pauses();
  for (;;) {
    try {
      const { hubInPage } = (await import(STREAM_WORKER)) as typeof import("./worker.ts");
      return hubInPage;
    } catch {
      await pauses.wait(undefined);
    }
  }
}

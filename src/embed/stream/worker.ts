import { StreamHub } from "./hub.ts";
import type { PageMessage } from "./messages.ts";

/** For a page that imports this script because it has no shared worker. */
export { hubInPage } from "./crew.ts";

/**
 * The shared worker of a tenant's origin: one for all its frames in a browser, so that they share one stream. In a page
 * nothing connects, and the hub stays idle.
 */
const hub = new StreamHub();

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (!port) return;
  const page = hub.join((message) => port.postMessage(message));
  port.onmessage = ({ data }: MessageEvent<PageMessage>) => page.receive(data);
  // Browsers that tell of a page's end tell it here, also where the page had no time to say so.
  port.addEventListener("close", () => page.receive({ type: "bye" }));
});

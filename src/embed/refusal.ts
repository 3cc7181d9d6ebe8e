import type { FrameData, RefusalData } from "../contract/resources/embed.ts";
import type { Messages } from "../locales/messages.ts";
import { speakerFor } from "../locales/speaker.ts";
import { Api, isPassing, Refused, readAtLast } from "./api.ts";
import { openBridge } from "./bridge.ts";
import { Pauses } from "./stream/pauses.ts";
import { sayWords, wordsForReading } from "./words.ts";

/**
 * The document that comes instead of a view: says why, tells the page around, and asks for the view's data until there are
 * some, which it then shows in place. It never loads itself again, which would end at the browser's own error page.
 */
const block = document.getElementById("data");
const refusal = JSON.parse(block?.textContent ?? "{}") as RefusalData;
const speaker = speakerFor(refusal.locale, refusal.messages as Messages);
const why = document.getElementById("why");
const next = document.createElement("p");
why?.after(next);

const bridge = openBridge(false, {
  onToken() {},
  onTheme(theme) {
    document.documentElement.dataset.theme = theme;
  },
});

function tell(refused: Refused, retryInMs?: number): void {
  const { code, message } = refused;
  bridge.tell("error", { code, message, ...(retryInMs === undefined ? {} : { retryInMs }) });
  if (why) why.textContent = sayWords(speaker, wordsForReading(refused));
}

async function showAtLast(askedMs: number): Promise<void> {
  const pauses = new Pauses();
  let nextAtMs = 0;
  const wait = (refused: Refused, retryInMs: number): void => {
    tell(refused, retryInMs);
    nextAtMs = performance.now() + retryInMs;
  };
  // Beside the reason, which is announced when it changes: seconds are not.
  const counting = setInterval(() => {
    const left = Math.max(0, Math.ceil((nextAtMs - performance.now()) / 1000));
    next.textContent = left > 0 ? speaker.say("state.retryIn", { count: left }) : "";
  }, 250);
  addEventListener("online", () => pauses.hurry());
  const { ms, isOver } = pauses.begin(askedMs);
  wait(first, Math.round(ms));
  await isOver;
  const view = location.pathname.split("/").at(-1) as FrameData["view"];
  const api = new Api({ apiKey: null, now: performance.timeOrigin });
  let attempts = 0;
  const show = async (): Promise<true> => {
    const data = await api.view(view, new URLSearchParams(location.search));
    if (block) block.textContent = JSON.stringify(data);
    attempts += 1;
    // Browsers remember that a module could not be loaded, by its address.
    await import(attempts === 1 ? refusal.framePath : `${refusal.framePath}?${attempts}`).catch((cause: unknown) => {
      throw new Refused("UNREACHABLE", String(cause));
    });
    return true;
  };
  try {
    await readAtLast(show, pauses, { isWanted: () => true, onPause: wait });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    tell(error);
  } finally {
    clearInterval(counting);
    next.remove();
  }
}

const first = new Refused(refusal.code, refusal.message, refusal.retryAfterSec);
if (isPassing(first)) showAtLast(refusal.retryAfterSec * 1000);
else tell(first);

import type { WireResult } from "../../contract/operations.ts";

/** What the server says of a user's purchases. The reasons of a market are those of the market that was asked about. */
export type Eligible = WireResult<"getEligibility">["trade"];

/** What one widget of a browser tells the others of the same publisher about a user. */
interface Heard {
  user: string;
  trade: Eligible;
  /** Milliseconds since the server said it. */
  ageMs: number;
}

const NAME = "pmctl-standing";
/** An older answer is asked for anew: much may have happened to the user since. */
const FRESH_MS = 10_000;
/** How long the other widgets have to answer. */
const ANSWER_WAIT_MS = 100;

let channel: BroadcastChannel | undefined;
type Known = Omit<Heard, "ageMs"> & { at: number };
let latest: Known | undefined;
let onHeard = (): void => {};

/**
 * Twenty widgets on a page have one user, whom the server is asked about once: each waits for its turn, asks the others, and
 * the server when none of them knows. Where a browser has no locks (a page without TLS), each asks for itself.
 * @param isRepeat something about the user may have changed: only what is heard from now on counts
 * @throws what `ask` throws; the other widgets do not hear it
 */
export async function askOnce(user: string, isRepeat: boolean, ask: () => Promise<Eligible>): Promise<Eligible> {
  if (!("locks" in navigator)) return ask();
  const since = performance.now();
  const talk = open();
  return navigator.locks.request(NAME, async () => {
    if (!isRepeat && known(user, since - FRESH_MS) === undefined) {
      talk.postMessage({ user });
      await new Promise<void>((resolve) => {
        onHeard = resolve;
        setTimeout(resolve, ANSWER_WAIT_MS);
      });
    }
    const heard = known(user, isRepeat ? since : since - FRESH_MS);
    if (heard) return heard.trade;
    latest = { user, trade: await ask(), at: performance.now() };
    tell(talk, latest);
    return latest.trade;
  });
}

/** What was said of a user at this time or later, by the clock of `performance.now`. */
function known(user: string, since: number): Known | undefined {
  return latest?.user === user && latest.at >= since ? latest : undefined;
}

function tell(talk: BroadcastChannel, { user, trade, at }: Known): void {
  talk.postMessage({ user, trade, ageMs: performance.now() - at } satisfies Heard);
}

function open(): BroadcastChannel {
  if (channel) return channel;
  const opened = new BroadcastChannel(NAME);
  opened.onmessage = ({ data }: MessageEvent<Heard | Pick<Heard, "user">>) => {
    if ("trade" in data) {
      latest = { ...data, at: performance.now() - data.ageMs };
      onHeard();
    } else if (latest && known(data.user, performance.now() - FRESH_MS)) tell(opened, latest);
  };
  channel = opened;
  return opened;
}

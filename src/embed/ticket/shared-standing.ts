import { Refused } from "../api.ts";

/** A refusal of who the user is, or that there is none. */
export type Verdict = Refused | "passes";

/** What one widget of a browser tells the others of the same publisher about a user. */
interface Heard {
  user: string;
  /** Empty for a user who may trade. */
  code: string;
  message: string;
  /** Milliseconds since the server said it. */
  ageMs: number;
}

const NAME = "pmctl-standing";
/** An older answer is asked for anew: much may have happened to the user since. */
const FRESH_MS = 10_000;
/** How long the other widgets have to answer. */
const ANSWER_WAIT_MS = 100;

let channel: BroadcastChannel | undefined;
let latest: (Heard & { at: number }) | undefined;
let onHeard = (): void => {};

/**
 * Twenty widgets on a page have one user, whom the server is asked about once: each waits for its turn, asks the others, and
 * the server when none of them knows. Where a browser has no locks (a page without TLS), each asks for itself.
 * @param isRepeat something about the user may have changed: only what is heard from now on counts
 * @param ask asks the server; undefined for a user who may trade
 * @param verdictOf what an answer says about the user, and so to every widget
 */
export async function askOnce(
  user: string,
  isRepeat: boolean,
  ask: () => Promise<Refused | undefined>,
  verdictOf: (refused: Refused | undefined) => Verdict | undefined,
): Promise<Refused | undefined> {
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
    if (heard) return heard.code === "" ? undefined : new Refused(heard.code, heard.message);
    const refused = await ask();
    const verdict = verdictOf(refused);
    if (verdict !== undefined) {
      const { code, message } = verdict === "passes" ? { code: "", message: "" } : verdict;
      latest = { user, code, message, ageMs: 0, at: performance.now() };
      tell(talk, latest);
    }
    return refused;
  });
}

/** What was said of a user at this time or later, by the clock of `performance.now`. */
function known(user: string, since: number): Heard | undefined {
  return latest?.user === user && latest.at >= since ? latest : undefined;
}

function tell(talk: BroadcastChannel, { user, code, message, at }: Heard & { at: number }): void {
  talk.postMessage({ user, code, message, ageMs: performance.now() - at } satisfies Heard);
}

function open(): BroadcastChannel {
  if (channel) return channel;
  const opened = new BroadcastChannel(NAME);
  opened.onmessage = ({ data }: MessageEvent<Heard | Pick<Heard, "user">>) => {
    if ("code" in data) {
      latest = { ...data, at: performance.now() - data.ageMs };
      onHeard();
    } else if (latest && known(data.user, performance.now() - FRESH_MS)) tell(opened, latest);
  };
  channel = opened;
  return opened;
}

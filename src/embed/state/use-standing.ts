import { useEffect, useRef, useState } from "preact/hooks";
import { type Api, Refused } from "../api.ts";
import { askQuote, type Order } from "../orders.ts";
import { isOfTheUser, mayHaveHappened, saysNothing } from "../words.ts";
import type { Session } from "./session.ts";

/** Whether the user may trade at all. */
export interface Standing {
  /** A refusal of who the user is; undefined while none is known. */
  barred: Refused | undefined;
  /** A press met such a refusal. */
  bar(refused: Refused): void;
}

export interface StandingOptions {
  session: Session;
  /** What is asked about: an order that the user might place. */
  order: Order;
  /** The order itself was refused, for a limit that holds for this user. */
  onLimit(refused: Refused): void;
}

/**
 * Asks, once for a user, what the server would answer to an order of theirs, so that a refusal of who they are is told before
 * they press anything. It is asked again when the page around hands a token: the way out may have been taken. A quote
 * that is not held costs the user nothing, and one request.
 */
export function useStanding({ session, order, onLimit }: StandingOptions): Standing {
  const { api, bridge, user, handed } = session;
  const [barred, setBarred] = useState<Refused>();
  const passed = useRef<string>(undefined);

  useEffect(() => {
    if (user === null || passed.current === user) return;
    let isDropped = false;
    refusalOf(api, user, order).then((refused) => {
      // An answer that says nothing about the user leaves what is known.
      if (isDropped || (refused && (saysNothing(refused) || mayHaveHappened(refused)))) return;
      const isBarred = refused !== undefined && isOfTheUser(refused);
      passed.current = isBarred ? undefined : user;
      setBarred(isBarred ? refused : undefined);
      const isLimit = refused?.code === "EXPOSURE_EXCEEDED";
      if (isLimit) onLimit(refused);
      // What else is refused, such as the balance or the price, the ticket sees by itself.
      if (isBarred || isLimit) bridge.tell("refused", { ...told(refused), marketId: order.marketId, stage: "before" });
    });
    return () => {
      isDropped = true;
    };
  }, [api, user, handed]);

  return {
    barred,
    bar(refused) {
      passed.current = undefined;
      setBarred(refused);
    },
  };
}

const told = ({ code, message }: Refused) => ({ code, message });

/** @returns what the server refuses the order for; undefined when it would not, or cannot be reached */
async function refusalOf(api: Api, user: string, order: Order): Promise<Refused | undefined> {
  return shared(user, () =>
    askQuote(api, order).then(
      () => undefined,
      (error: unknown) => (error instanceof Refused ? error : undefined),
    ),
  );
}

interface Heard {
  user: string;
  code: string;
  message: string;
}

const CHANNEL = "pmctl-standing";
const LOCK = "pmctl-standing";

/**
 * Twenty widgets on a page have one user, who is asked about once: each waits for its turn, and takes what another one
 * has heard since it began to wait. Where the browser has no locks (a page without TLS), each asks for itself.
 */
async function shared(user: string, ask: () => Promise<Refused | undefined>): Promise<Refused | undefined> {
  if (!("locks" in navigator)) return ask();
  const channel = new BroadcastChannel(CHANNEL);
  let heard: Heard | undefined;
  channel.onmessage = ({ data }: MessageEvent<Heard>) => {
    if (data.user === user) heard = data;
  };
  try {
    return await navigator.locks.request(LOCK, async () => {
      if (heard !== undefined) return heard.code === "" ? undefined : new Refused(heard.code, heard.message);
      const refused = await ask();
      if (refused === undefined || isOfTheUser(refused))
        channel.postMessage({ user, code: refused?.code ?? "", message: refused?.message ?? "" } satisfies Heard);
      return refused;
    });
  } finally {
    channel.close();
  }
}

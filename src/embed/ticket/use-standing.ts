import { useEffect, useRef, useState } from "preact/hooks";
import { type Api, Refused } from "../api.ts";
import type { Viewer } from "../state/viewer.ts";
import { isOfTheUser, mayHaveHappened, saysNothing } from "../words.ts";
import { askQuote, type Order } from "./orders.ts";
import { askOnce, type Verdict } from "./shared-standing.ts";

/** Whether the user may trade at all. */
export interface Standing {
  /** A refusal of who the user is; undefined while none is known. */
  barred: Refused | undefined;
  /** A press met such a refusal. */
  bar(refused: Refused): void;
}

export interface StandingOptions {
  viewer: Viewer;
  /** What is asked about: an order that the user might place. */
  order: Order;
  /** The order itself was refused, for a limit that holds for this user. */
  onLimit(refused: Refused): void;
}

/**
 * Asks the server for a quote once for each user, so that the ticket shows a refusal of the user before the first press. It asks
 * again when the page around hands a token, because the user may have been verified meanwhile. A quote costs one request.
 */
export function useStanding({ viewer, order, onLimit }: StandingOptions): Standing {
  const { api, bridge, user, handed } = viewer;
  const [barred, setBarred] = useState<Refused>();
  const passed = useRef<string>(undefined);
  const asked = useRef<string>(undefined);

  useEffect(() => {
    if (user === null || passed.current === user) return;
    let isDropped = false;
    const isRepeat = asked.current === user;
    asked.current = user;
    askOnce(user, isRepeat, () => refusalOf(api, order), verdictOf).then((refused) => {
      const verdict = verdictOf(refused);
      // An answer that says nothing about the user changes nothing.
      if (isDropped || verdict === undefined) return;
      const isBarred = verdict !== "passes";
      passed.current = isBarred ? undefined : user;
      setBarred(isBarred ? verdict : undefined);
      const isLimit = refused?.code === "EXPOSURE_EXCEEDED";
      if (isLimit) onLimit(refused);
      // The ticket itself sees every other refusal, such as of the balance or the price.
      if (refused && (isBarred || isLimit))
        bridge.tell("refused", { ...told(refused), marketId: order.marketId, stage: "before" });
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

/** What an answer says about the user; undefined for one that says nothing. */
function verdictOf(refused: Refused | undefined): Verdict | undefined {
  if (refused === undefined) return "passes";
  if (saysNothing(refused) || mayHaveHappened(refused)) return undefined;
  return isOfTheUser(refused) ? refused : "passes";
}

/** @returns what the server refuses the order for; undefined for one that it would take */
function refusalOf(api: Api, order: Order): Promise<Refused | undefined> {
  return askQuote(api, order).then(
    () => undefined,
    (error: unknown) => (error instanceof Refused ? error : undefined),
  );
}

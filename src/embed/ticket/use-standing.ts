import { useEffect, useRef, useState } from "preact/hooks";
import { usdFromMicro } from "../../domain/money.ts";
import { Refused } from "../api.ts";
import type { Viewer } from "../state/viewer.ts";
import { isOfTheUser } from "../words.ts";
import type { Order } from "./orders.ts";
import { askOnce, type Eligible } from "./shared-standing.ts";

const OVER_CAP = "EXPOSURE_EXCEEDED";
const LONGEST_TIMER_MS = 2 ** 31 - 1000;

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
 * Asks the server once for each user what the user may do, so that the ticket shows a refusal of the user before the first press. It
 * asks again when the page around hands a token, because the user may have been verified meanwhile.
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
    askOnce(user, isRepeat, async () => (await api.eligibility(order.marketId)).trade).then(
      (trade) => {
        if (isDropped) return;
        const refused = refusalOf(trade, order);
        const barring = refused && isOfTheUser(refused) ? refused : undefined;
        passed.current = barring ? undefined : user;
        setBarred(barring);
        if (!refused) return;
        if (!barring) onLimit(refused);
        const { code, message } = refused;
        bridge.tell("refused", { code, message, marketId: order.marketId, stage: "before" });
      },
      // A failure says nothing about the user, so it changes nothing.
      () => {},
    );
    return () => {
      isDropped = true;
    };
  }, [api, user, handed]);

  useEffect(() => {
    const restMs = Date.parse(barred?.until ?? "") - api.clock.now();
    if (!(restMs < LONGEST_TIMER_MS)) return;
    // The clock is right to a second.
    const timer = setTimeout(() => setBarred(undefined), restMs + 1000);
    return () => clearTimeout(timer);
  }, [barred]);

  return {
    barred,
    bar(refused) {
      passed.current = undefined;
      setBarred(refused);
    },
  };
}

/**
 * What stands against the user, else the cap that the order would exceed; undefined for neither. The ticket itself sees
 * every other refusal, such as of the balance or the price.
 */
function refusalOf({ reasons, limits }: Eligible, { sizeMicro }: Order): Refused | undefined {
  const known = reasons.find((each) => isOfTheUser(each) || each.code === OVER_CAP);
  if (known) return new Refused(known.code, known.message, 0, known.until);
  if (usdFromMicro(sizeMicro) <= limits.remainingUsd) return undefined;
  return new Refused(OVER_CAP, `The trade would exceed the cap of ${limits.maxExposureUsd} USD`);
}

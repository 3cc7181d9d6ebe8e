import type { Api, WireResult } from "../../../contract/operations.ts";
import { parseReference } from "../../../domain/reference.ts";
import { wallClockMs } from "../../../domain/time/clock.ts";
import { price, span } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { Refused } from "../../refused.ts";
import { addressOf } from "../../router.ts";
import { shortened } from "./feeds.tsx";

/** Prices leave no entry in the log that says when to read again. */
const BEAT_MS = 5000;

type Source = WireResult<"listFeedSamples">["sources"][number];

/** What the oracle could not decide, and the last price of each of its sources; nothing for a market that it did not hold. */
export function Held({ id }: { id: string }) {
  const { value } = useLive((api) => readHeld(api, id), id, BEAT_MS);
  if (!value?.hold) return null;
  const { hold, feed, sources } = value;
  return (
    <section class="waiting" aria-label="Held for a person">
      <Facts
        of={[
          ["Held for a person", <bdi key="reason">{hold.reason}</bdi>],
          [
            "Why",
            <bdi key="why">
              <Sentence of={hold.detail} />
            </bdi>,
          ],
          ["Rule", <bdi key="rule">{hold.resolutionRef}</bdi>],
          ["Since", <Time key="since" at={hold.heldAt} />],
          ...sources.map(
            (each) => [shortened(`${each.source} ${each.symbol}`), <LastPrice key="price" of={each} />] as const,
          ),
          [
            "Samples",
            <a key="samples" href={addressOf("/oracle", { feed })}>
              Oracle
            </a>,
          ],
        ]}
      />
    </section>
  );
}

function LastPrice({ of: { samples } }: { of: Source }) {
  const last = samples.at(-1);
  if (!last) return <span>no price is stored</span>;
  return (
    <>
      {price(last.price)}, <Time at={last.observedAt} />, {span(wallClockMs() - Date.parse(last.observedAt))} old
    </>
  );
}

async function readHeld(api: Api, id: string) {
  const [hold] = await api.listHeldMarkets({ marketId: id });
  const reference = parseReference(hold?.resolutionRef ?? "");
  // A market that the tenant's own oracle decides has no feed.
  if (reference.kind === "text") return { hold, sources: [] };
  const feed = reference.kind === "reference" ? reference.reference.feed : reference.feed;
  try {
    const { sources } = await api.listFeedSamples({ feed, limit: 1 });
    return { hold, feed, sources };
  } catch (error) {
    // The tenant file may no longer have the feed.
    if (error instanceof Refused && error.code === "NOT_FOUND") return { hold, sources: [] };
    throw error;
  }
}

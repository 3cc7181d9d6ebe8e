import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FrameData } from "../../contract/resources/embed.ts";
import type { Side } from "../../domain/market/market.ts";
import { limitFromUsd } from "../../domain/money.ts";
import { useSpeech } from "../speech.ts";
import type { LiveMarket } from "../state/use-market.ts";
import type { Viewer } from "../state/viewer.ts";
import {
  type Draft,
  draftAfter,
  draftOf,
  type Held,
  NOT_ESTIMATED,
  orderOf,
  overLimit,
  type Wish,
} from "../ticket/draft.ts";
import { type Estimate, estimate, feeBpsOf, sellableNow, sellValueAt } from "../ticket/quote.ts";
import { useStanding } from "../ticket/use-standing.ts";
import { useTicket } from "../ticket/use-ticket.ts";
import { sayWords, type Words, wordsFor } from "../words.ts";
import { Problem } from "./problem.tsx";
import { QuoteLines } from "./quote-lines.tsx";
import { Receipt } from "./receipt.tsx";
import { ActionChoice, SellPart, SideChoice, SizeField } from "./ticket-fields.tsx";
import { ConfirmNote, MovedNote, SubmitButton } from "./ticket-steps.tsx";

export interface TicketProps {
  data: FrameData;
  viewer: Viewer;
  marketId: string;
  market: LiveMarket;
  /** The fee of the latest answer: an operator may change it while the widget is open. */
  feeBps: number;
  onFee(feeBps: number): void;
  held: Held;
  /** Why trading is not possible here; undefined when it is. */
  blocked: Words | undefined;
  /** A new one opens the ticket again. */
  wish: Wish | undefined;
}

const PROBE_MICRO = 1_000_000n;
const BUY_YES: Wish = { side: "yes", action: "buy" };

/**
 * The ticket: the reader writes an order, the server quotes it, and the reader confirms the quote or better. In a narrow frame the
 * style shows only the two sides until the reader chooses one (`data-open`).
 */
export function Ticket(props: TicketProps) {
  const { data, viewer, marketId, market, feeBps, onFee, held, blocked, wish } = props;
  const speaker = useSpeech();
  const { say, locale } = speaker;
  const { maxTradeUsd } = data.limits;
  const { bridge, portfolio } = viewer;
  const sellable: Held = {
    yes: sellableNow(market.mechanism, market.pool, "yes", held.yes),
    no: sellableNow(market.mechanism, market.pool, "no", held.no),
  };
  const [draft, setDraft] = useState<Draft>(() => draftOf(wish ?? BUY_YES, sellable, locale));
  const { isOpen, sheet, open, close } = useSheet(wish !== undefined);
  const input = useRef<HTMLInputElement>(null);
  const submit = useRef<HTMLButtonElement>(null);
  const focusNext = useRef<RefObject<HTMLElement | null>>(undefined);

  const { side, action } = draft;
  const made = orderOf(draft, marketId, locale);
  const order = "marketId" in made ? made : undefined;
  const probed = action === "buy" && order ? order.sizeMicro : PROBE_MICRO;
  const standing = useStanding({
    viewer,
    order: { marketId, side, action: "buy", sizeMicro: probed },
    onLimit: (refused) => flow.warn(refused),
  });
  const worked = order && estimate(market.mechanism, market.pool, order, feeBps);
  const estimated = typeof worked === "string" ? undefined : worked;
  const flow = useTicket({
    viewer,
    marketId,
    yesPrice: market.yesPrice,
    estimated,
    onQuoted: (quoted) => onFee(feeBpsOf(quoted, feeBps)),
    onBarred: standing.bar,
    onTrade(trade) {
      bridge.tell("trade", trade);
      // Otherwise the stream reports the fill.
      if (market.live !== "live") viewer.refresh();
    },
  });
  const { phase, problem } = flow;
  const section = useRef<HTMLElement>(null);
  const heightPx = useRef(0);
  if (section.current) heightPx.current = section.current.offsetHeight;
  const isFixed = phase.name === "sending";
  const change = (changed: Partial<Draft>): void => {
    if (isFixed) return;
    setDraft({ ...draft, ...changed });
    flow.edit();
  };
  const backTo = (next: Draft): void => {
    setDraft(next);
    flow.edit();
    // The focused button is gone: most people change the amount next.
    focusNext.current = input;
  };

  const seen = useRef(wish);
  const due = useRef(wish?.action === "sell" ? wish : undefined);
  useEffect(() => {
    if (wish !== seen.current) due.current = wish;
    seen.current = wish;
    const wanted = due.current;
    // Only the portfolio says what can be sold.
    if (!wanted || (wanted.action === "sell" && held[wanted.side] === 0n)) return;
    due.current = undefined;
    change(draftOf(wanted, sellable, locale));
    open();
    focusNext.current = wanted.all ? submit : input;
  }, [wish, held.yes, held.no]);
  useLayoutEffect(() => {
    focusNext.current?.current?.focus();
    focusNext.current = undefined;
  });

  useLayoutEffect(() => {
    if (phase.name === "confirm") reveal(submit.current?.parentElement);
  }, [phase.name]);

  const atYesPrice = (yesPrice: number, shares: number): number =>
    sellValueAt({ mechanism: market.mechanism, pool: market.pool, feeBps }, { side, shares, yesPrice });
  if (phase.name === "done") {
    const { trade, shown } = phase;
    const resaleUsd = trade.action === "buy" ? atYesPrice(market.yesPrice, trade.shares) : undefined;
    return (
      <Receipt
        trade={trade}
        quote={shown.quote}
        resaleUsd={resaleUsd}
        minHeightPx={heightPx.current}
        onAgain={() => backTo(draftAfter(trade, draft))}
      />
    );
  }

  const shown: Estimate | undefined = "shown" in phase ? phase.shown.quote : estimated;
  const said = typeof worked === "string" ? NOT_ESTIMATED[worked] : order ? undefined : (made as Words);
  const balanceUsd = portfolio?.wallet.balanceUsd;
  const most = limitFromUsd(Math.min(maxTradeUsd, balanceUsd ?? maxTradeUsd));
  const barred = standing.barred === undefined ? blocked : wordsFor(standing.barred);
  const known = barred ?? (order && overLimit(order, { maxTradeUsd, balanceUsd, held }));
  const refusal = barred ?? problem ?? known;
  const isWaiting = problem?.waitSec !== undefined;

  return (
    <section class="panel ticket" data-open={isOpen} ref={section}>
      <form
        aria-label={say("ticket.label")}
        onSubmit={(event) => {
          event.preventDefault();
          if (shown && !barred && !isWaiting) flow.press(order);
        }}
        onKeyDown={(event) => {
          // A held key would confirm a price that the user has not read.
          if (event.key === "Enter" && event.repeat) event.preventDefault();
          if (event.key === "Escape") close();
        }}
      >
        <SideChoice
          chosen={side}
          yesPrice={market.yesPrice}
          isOffered={(one) => action === "buy" || held[one] > 0n}
          onChoose={(chosen) => {
            change({ side: chosen });
            open();
          }}
        />
        <div class="sheet" ref={sheet} tabIndex={-1}>
          <button type="button" class="link close" onClick={close}>
            {say("ticket.close")}
          </button>
          {(held.yes > 0n || held.no > 0n) && (
            <ActionChoice
              chosen={action}
              onChoose={(chosen) =>
                change(draftOf({ side: heldSide(side, chosen, held), action: chosen }, sellable, locale))
              }
            />
          )}
          <SizeField
            action={action}
            text={draft.text}
            mostMicro={action === "buy" ? most : sellable[side]}
            isFixed={isFixed}
            input={input}
            onEnter={(text) => change({ text })}
          />
          {action === "sell" && sellable[side] < held[side] && (
            <SellPart sellableMicro={sellable[side]} heldMicro={held[side]} />
          )}
          {shown ? (
            <QuoteLines
              quote={shown}
              side={side}
              action={action}
              resaleUsd={action === "buy" ? atYesPrice(shown.yesPriceAfter, shown.shares) : undefined}
              warnImpact={data.warnImpact}
            />
          ) : (
            said && (
              <p class="soft" role="status">
                {sayWords(speaker, said)}
              </p>
            )
          )}
          {market.live === "offline" && <p class="warning">{say("ticket.notLive")}</p>}
          {phase.name === "edit" && phase.moved && <MovedNote moved={phase.moved} yesPrice={market.yesPrice} />}
          {refusal && (
            <Problem
              words={refusal}
              isKnown={refusal !== problem}
              onOffer={(name) => bridge.tell(name, { marketId })}
              onEnd={flow.forgive}
            />
          )}
          {blocked === undefined && (
            <div class="act">
              <SubmitButton
                button={submit}
                phase={phase}
                draft={draft}
                quote={shown}
                isOff={!shown || barred !== undefined || isWaiting || !viewer.settled}
              />
              <ConfirmNote
                phase={phase}
                onChange={() => {
                  flow.edit();
                  submit.current?.focus();
                }}
              />
            </div>
          )}
        </div>
      </form>
    </section>
  );
}

/** The side to sell where the chosen one is not held. */
function heldSide(side: Side, action: "buy" | "sell", held: Held): Side {
  return action === "buy" || held[side] > 0n ? side : side === "yes" ? "no" : "yes";
}

/** Scrolls the lines to confirm above the button, which stays at the frame's end and may cover them. */
function reveal(act: Element | null | undefined): void {
  const above = act?.previousElementSibling;
  if (!act || !above) return;
  const hiddenPx = above.getBoundingClientRect().bottom - act.getBoundingClientRect().top;
  if (hiddenPx > 0) scrollBy(0, hiddenPx);
}

/** The part of the ticket that its style may hide until a side is chosen. */
function useSheet(isOpenAtFirst: boolean) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const sheet = useRef<HTMLDivElement>(null);
  const wasHidden = useRef(false);
  // An opened sheet gets the focus; where it was never hidden, the focus stays on the side.
  useLayoutEffect(() => {
    if (isOpen && wasHidden.current) sheet.current?.focus();
    wasHidden.current = false;
  }, [isOpen]);
  return {
    isOpen,
    sheet,
    open(): void {
      wasHidden.current = sheet.current?.offsetParent === null;
      setOpen(true);
    },
    close(): void {
      const { current } = sheet;
      // A sheet without a close button is never closed.
      if (!current?.querySelector<HTMLElement>(".close")?.offsetParent) return;
      setOpen(false);
      current.closest("form")?.querySelector<HTMLElement>('.side[aria-pressed="true"]')?.focus();
    },
  };
}

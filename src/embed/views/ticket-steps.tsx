import type { RefObject } from "preact";
import { useSpeech } from "../speech.ts";
import type { Draft } from "../ticket/draft.ts";
import type { QuotedOrder } from "../ticket/orders.ts";
import { type Estimate, shownResult } from "../ticket/quote.ts";
import type { Phase } from "../ticket/use-ticket.ts";

export interface SubmitButtonProps {
  button: RefObject<HTMLButtonElement | null>;
  phase: Phase;
  draft: Draft;
  quote: Estimate | undefined;
  /** A press could do nothing. */
  isOff: boolean;
}

/** The button of both steps. While it waits for an answer, it keeps the focus and does nothing. */
export function SubmitButton({ button, phase, draft: { side, action }, quote, isOff }: SubmitButtonProps) {
  const { say, dollars, shares } = useSpeech();
  const isBusy = phase.name === "asking" || phase.name === "sending";
  const values = {
    side: say(`common.${side}`),
    shares: quote ? shares(quote.shares) : "",
    amount: quote ? dollars(action === "buy" ? quote.amount : shownResult(action, quote)) : "",
  };
  const buy = action === "buy";
  const label =
    phase.name === "asking"
      ? say("ticket.asking")
      : phase.name === "sending"
        ? say("ticket.sending")
        : phase.name === "unsure"
          ? say("ticket.tryAgain")
          : phase.name === "confirm"
            ? say(buy ? "ticket.confirmBuy" : "ticket.confirmSell", values)
            : quote
              ? say(buy ? "ticket.pressBuy" : "ticket.pressSell", values)
              : say(buy ? "ticket.buySide" : "ticket.sellSide", values);
  return (
    <button
      ref={button}
      type="submit"
      class={`buy ${side}`}
      data-pm="submit"
      disabled={isOff && !isBusy}
      aria-disabled={isBusy || undefined}
      onClick={(event) => {
        // The second click of a double click would confirm a price that the user has not read.
        if (isBusy || event.detail > 1) event.preventDefault();
      }}
    >
      {label}
    </button>
  );
}

export interface ConfirmNoteProps {
  phase: Phase;
  onChange(): void;
}

/** Below the button of the second step: what a press promises, and the way back. */
export function ConfirmNote({ phase, onChange }: ConfirmNoteProps) {
  const { say } = useSpeech();
  if (phase.name !== "confirm" && phase.name !== "unsure") return null;
  return (
    <div class="sure">
      <span role="status">{say(phase.name === "confirm" ? "ticket.orBetter" : "ticket.unsure")}</span>
      <button type="button" class="link" data-pm="change-order" onClick={onChange}>
        {say("ticket.change")}
      </button>
    </div>
  );
}

/** Why the ticket is back in its first step: the price that was shown, and the price now. */
export function MovedNote({ moved: { order, quote }, yesPrice }: { moved: QuotedOrder; yesPrice: number }) {
  const { say, cents } = useSpeech();
  const { side } = order;
  const priceOf = (yes: number): string => cents(side === "yes" ? yes : 1 - yes);
  const [before, after] = [priceOf(quote.yesPriceBefore), priceOf(yesPrice)];
  const values = { side: say(`common.${side}`), before, after };
  return (
    <p class="warning moved" data-pm="moved" role="alert">
      {say(before === after ? "ticket.movedLittle" : "ticket.moved", values)}
    </p>
  );
}

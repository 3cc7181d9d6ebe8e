import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api.ts";
import type { Session } from "../state/session.ts";
import { isOfTheUser, isQuoteOver, mayHaveHappened, saysNothing, type Words, wordsFor } from "../words.ts";
import {
  askQuote,
  detailOf,
  type HeldQuote,
  holdQuote,
  type Order,
  placeQuoted,
  type Quoted,
  type Trade,
} from "./orders.ts";

/** Why a quote is over before it was confirmed. */
export interface Over {
  reason: "moved" | "fee" | "expired";
  held: HeldQuote;
}

export type Phase =
  /** The first step; `over` says why the ticket is back in it. */
  | { name: "edit"; over?: Over }
  | { name: "asking" }
  /** The second step: a quote is shown, and waits to be confirmed. */
  | { name: "confirm"; held: HeldQuote }
  | { name: "sending"; held: HeldQuote; isAgain: boolean }
  /** The answer to the trade was lost. Only the same trade, under its key, may follow until its outcome is known. */
  | { name: "unsure"; held: HeldQuote }
  | { name: "done"; trade: Trade };

/** The steps of a purchase or sale, and its refusal. */
export interface TicketFlow {
  phase: Phase;
  problem: Words | undefined;
  /** The first press asks for a quote of the order, the second trades as quoted. */
  press(order: Order | undefined): Promise<void>;
  /** Back to the first step: forgets what was quoted, and its refusal. */
  edit(): void;
  /** The time of the quote has run out. */
  expire(): void;
  /** Shows a limit that was met before the first press. */
  warn(refused: Refused): void;
  /** Removes a refusal that no longer applies. */
  forgive(): void;
}

export interface TicketOptions {
  session: Session;
  marketId: string;
  /** The price on the screen, as the stream moves it. */
  yesPrice: number;
  /** A refusal of who the user is: it holds for every order. */
  onBarred(refused: Refused): void;
  /** Each answer tells the fee that the server takes now. */
  onQuoted(quoted: Quoted): void;
  onTrade(trade: Trade): void;
}

export function useTicket({ session, marketId, yesPrice, onBarred, onQuoted, onTrade }: TicketOptions): TicketFlow {
  const { api, bridge } = session;
  const [phase, setPhase] = useState<Phase>({ name: "edit" });
  const [problem, setProblem] = useState<Words>();
  // An answer counts only for the attempt that is under way when it arrives.
  const attempt = useRef(0);

  const pressed = useRef<Phase>(undefined);

  const enter = (next: Phase, words?: Words): void => {
    attempt.current += 1;
    setPhase(next);
    setProblem(words);
  };
  const refuse = (refused: Refused, stage: "quote" | "trade", next: Phase): void => {
    bridge.tell("refused", { code: refused.code, message: refused.message, marketId, stage });
    if (isOfTheUser(refused)) onBarred(refused);
    enter(next, isOfTheUser(refused) ? undefined : wordsFor(refused));
  };

  // Nothing but the quote that was shown is ever confirmed: a price that moves meanwhile ends it.
  useEffect(() => {
    if (phase.name === "confirm" && yesPrice !== phase.held.quoted.yesPriceBefore)
      enter({ name: "edit", over: { reason: "moved", held: phase.held } });
  }, [yesPrice]);

  const ask = async (order: Order): Promise<void> => {
    enter({ name: "asking" });
    const own = attempt.current;
    const held = await holdQuote(api, order).catch(refusedOf);
    if (attempt.current !== own) return;
    if (held instanceof Refused) return refuse(held, "quote", { name: "edit" });
    enter({ name: "confirm", held });
    onQuoted(held.quoted);
    bridge.tell("quote", detailOf(held));
  };
  /** A quote is over as moved for a price or a fee that changed: another one tells which. */
  const whatMoved = async ({ order, quoted }: HeldQuote): Promise<"moved" | "fee"> => {
    const now = await askQuote(api, order).catch(refusedOf);
    if (now instanceof Refused) return "moved";
    onQuoted(now);
    return now.yesPriceBefore === quoted.yesPriceBefore && now.fee !== quoted.fee ? "fee" : "moved";
  };
  const trade = async (held: HeldQuote, isAgain: boolean): Promise<void> => {
    enter({ name: "sending", held, isAgain });
    if (!isAgain) bridge.tell("confirm", { ...detailOf(held), expiresAt: held.expiresAt });
    const own = attempt.current;
    const answer = await placeQuoted(api, held).catch(refusedOf);
    // The trade was made, whatever the ticket shows by now.
    if (!(answer instanceof Refused)) onTrade(answer);
    if (attempt.current !== own) return;
    if (!(answer instanceof Refused)) enter({ name: "done", trade: answer });
    else if (mayHaveHappened(answer) || (isAgain && saysNothing(answer)))
      refuse(answer, "trade", { name: "unsure", held });
    else if (isQuoteOver(answer)) {
      const reason = answer.code === "QUOTE_MOVED" ? await whatMoved(held) : "expired";
      if (attempt.current !== own) return;
      refuse(answer, "trade", { name: "edit", over: { reason, held } });
      setProblem(undefined);
    } else refuse(answer, "trade", saysNothing(answer) ? { name: "confirm", held } : { name: "edit" });
  };

  return {
    phase,
    problem,
    forgive: () => setProblem(undefined),
    warn: (refused) => phase.name === "edit" && setProblem(wordsFor(refused)),
    edit: () => enter({ name: "edit" }),
    expire: () => phase.name === "confirm" && enter({ name: "edit", over: { reason: "expired", held: phase.held } }),
    async press(order) {
      // Two presses before the next step is drawn are one.
      if (pressed.current === phase) return;
      if (phase.name !== "edit" || order) pressed.current = phase;
      if (phase.name === "edit" && order) await ask(order);
      else if (phase.name === "unsure") await trade(phase.held, true);
      else if (phase.name === "confirm") {
        const isOver = performance.now() >= phase.held.endsAtMs;
        if (isOver) enter({ name: "edit", over: { reason: "expired", held: phase.held } });
        else await trade(phase.held, false);
      }
    },
  };
}

function refusedOf(error: unknown): Refused {
  return error instanceof Refused ? error : new Refused("INTERNAL", "Something went wrong");
}

import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api.ts";
import type { Viewer } from "../state/viewer.ts";
import { isOfTheUser, mayHaveHappened, saysNothing, type Words, wordsFor } from "../words.ts";
import {
  askQuote,
  detailOf,
  type Order,
  placeQuoted,
  type Quoted,
  type QuotedOrder,
  randomKey,
  type Trade,
} from "./orders.ts";
import { type Estimate, isWorse } from "./quote.ts";

export type Phase =
  /** The first step; `moved` is the quote of the second step that no longer holds. */
  | { name: "edit"; moved?: QuotedOrder }
  | { name: "asking" }
  /** The second step: a quote is shown, and waits to be confirmed, however long. */
  | { name: "confirm"; shown: QuotedOrder }
  | { name: "sending"; shown: QuotedOrder; isAgain: boolean }
  /** The answer to the trade was lost. Only the same trade, under its key, may follow until its outcome is known. */
  | { name: "unsure"; shown: QuotedOrder }
  | { name: "done"; trade: Trade; shown: QuotedOrder };

/** The steps of a purchase or sale, and its refusal. */
export interface TicketFlow {
  phase: Phase;
  problem: Words | undefined;
  /** The first press shows a quote of the order, the second trades at what it shows or better. */
  press(order: Order | undefined): Promise<void>;
  /** Back to the first step: forgets what was quoted, and its refusal. */
  edit(): void;
  /** Shows a limit that was met before the first press. */
  warn(refused: Refused): void;
  /** Removes a refusal that no longer applies. */
  forgive(): void;
}

export interface TicketOptions {
  viewer: Viewer;
  marketId: string;
  /** The price on the screen, as the stream moves it. */
  yesPrice: number;
  /** What the order of the ticket comes to at that price; undefined for nothing. */
  estimated: Estimate | undefined;
  /** A refusal of who the user is: it holds for every order. */
  onBarred(refused: Refused): void;
  /** Each answer tells the fee that the server takes now. */
  onQuoted(quoted: Quoted): void;
  onTrade(trade: Trade): void;
}

export function useTicket(options: TicketOptions): TicketFlow {
  const { viewer, marketId, yesPrice, estimated, onBarred, onQuoted, onTrade } = options;
  const { api, bridge } = viewer;
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

  // The server would refuse what is worse than shown. What is better stays, and the user gets it.
  useEffect(() => {
    if (phase.name !== "confirm") return;
    const { order, quote } = phase.shown;
    if (isWorse(order.action, estimated, quote)) enter({ name: "edit", moved: phase.shown });
  }, [yesPrice]);

  const ask = async (order: Order): Promise<void> => {
    enter({ name: "asking" });
    const own = attempt.current;
    const quote = await askQuote(api, order).catch(refusedOf);
    if (attempt.current !== own) return;
    if (quote instanceof Refused) return refuse(quote, "quote", { name: "edit" });
    const shown = { order, quote, key: randomKey() };
    enter({ name: "confirm", shown });
    onQuoted(quote);
    bridge.tell("quote", detailOf(shown));
  };
  const trade = async (shown: QuotedOrder, isAgain: boolean): Promise<void> => {
    enter({ name: "sending", shown, isAgain });
    if (!isAgain) bridge.tell("confirm", detailOf(shown));
    const own = attempt.current;
    const answer = await placeQuoted(api, shown).catch(refusedOf);
    // The trade was made, whatever the ticket shows by now.
    if (!(answer instanceof Refused)) onTrade(answer);
    if (attempt.current !== own) return;
    if (!(answer instanceof Refused)) enter({ name: "done", trade: answer, shown });
    else if (mayHaveHappened(answer) || (isAgain && saysNothing(answer)))
      refuse(answer, "trade", { name: "unsure", shown });
    else if (answer.code === "SLIPPAGE") {
      // The fee may have changed, which no event reports.
      await askQuote(api, shown.order).then(onQuoted, () => undefined);
      if (attempt.current !== own) return;
      refuse(answer, "trade", { name: "edit", moved: shown });
      setProblem(undefined);
    } else refuse(answer, "trade", saysNothing(answer) ? { name: "confirm", shown } : { name: "edit" });
  };

  return {
    phase,
    problem,
    forgive: () => setProblem(undefined),
    warn: (refused) => phase.name === "edit" && setProblem(wordsFor(refused)),
    edit: () => enter({ name: "edit" }),
    async press(order) {
      // A second press before the next step is drawn counts as the same press.
      if (pressed.current === phase) return;
      if (phase.name !== "edit" || order) pressed.current = phase;
      if (phase.name === "edit" && order) await ask(order);
      else if (phase.name === "unsure" || phase.name === "confirm") await trade(phase.shown, phase.name === "unsure");
    },
  };
}

function refusedOf(error: unknown): Refused {
  return error instanceof Refused ? error : new Refused("INTERNAL", "Something went wrong");
}

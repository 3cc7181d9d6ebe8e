import { useRef, useState } from "preact/hooks";
import type { WireResult } from "../../contract/operations.ts";
import { type Api, type Purchase, Refused } from "../api.ts";
import { mayHaveHappened, type Words, wordsFor } from "../words.ts";

export type Phase =
  | { name: "edit" }
  | { name: "confirm" }
  | { name: "sending" }
  | { name: "done"; trade: WireResult<"placeTrade"> };

/** The steps of a purchase, and its refusal. */
export interface PurchaseFlow {
  phase: Phase;
  problem: Words | undefined;
  /** Shows a refusal instead of going on. */
  refuse(words: Words): void;
  ask(): void;
  /** Back to the beginning: forgets the purchase under way and its refusal. */
  edit(): void;
  send(purchase: Purchase): Promise<void>;
  /** Removes a refusal that no longer applies. */
  forgive(): void;
}

export function usePurchase(api: Api, onDone: (trade: WireResult<"placeTrade">) => void): PurchaseFlow {
  const [phase, setPhase] = useState<Phase>({ name: "edit" });
  const [problem, setProblem] = useState<Words>();
  // A purchase that may have happened is repeated unchanged and under its key, or the server would buy twice.
  const unsure = useRef<{ purchase: Purchase; key: string }>(undefined);

  return {
    phase,
    problem,
    refuse: setProblem,
    forgive: () => setProblem(undefined),
    ask: () => setPhase({ name: "confirm" }),
    edit() {
      unsure.current = undefined;
      setPhase({ name: "edit" });
      setProblem(undefined);
    },
    async send(wanted) {
      const attempt = unsure.current ?? { purchase: wanted, key: randomKey() };
      setPhase({ name: "sending" });
      setProblem(undefined);
      try {
        const trade = await api.trade(attempt.purchase, attempt.key);
        unsure.current = undefined;
        setPhase({ name: "done", trade });
        onDone(trade);
      } catch (error) {
        const refused = error instanceof Refused ? error : new Refused("INTERNAL", "Something went wrong");
        unsure.current = mayHaveHappened(refused) ? attempt : undefined;
        setProblem(wordsFor(refused));
        setPhase({ name: "confirm" });
      }
    },
  };
}

/** Not randomUUID, which browsers keep from pages without TLS, and a first look at pmctl has none. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { WireResult } from "../../contract/operations.ts";
import type { FrameData } from "../../contract/resources/embed.ts";
import { Api, claimsOf, expiryOf, Refused, readAtLast, userOf } from "../api.ts";
import { type Bridge, type BridgeHandlers, openBridge, sayReadOnly } from "../bridge.ts";
import { tellOnce } from "../host/warn.ts";
import { Pauses } from "../stream/pauses.ts";
import { type Words, wordsForReading } from "../words.ts";

export type Portfolio = WireResult<"getPortfolio">;

/** The user who looks at the frame, and their portfolio. */
export interface Viewer {
  api: Api;
  bridge: Bridge;
  /** Whether the frame knows who is signed in: the page around has answered, or is not asked. */
  settled: boolean;
  /** Whether a user is signed in. */
  signedIn: boolean;
  /** Who is signed in; null when no user is. */
  user: string | null;
  /** How many users have signed out: the key of components whose state ends with its user. */
  left: number;
  /** How often the page around has handed a token: each may mean that something about the user has changed. */
  handed: number;
  portfolio: Portfolio | undefined;
  /** Why the last reading of the portfolio failed; undefined after a successful one. It is read again by itself. */
  problem: Words | undefined;
  /** Reads the portfolio again: something was bought, or settled. */
  refresh(): Promise<void>;
  /** Reads what is shown again. @param ifOlderMs only if it was read longer ago, in milliseconds */
  renew(ifOlderMs?: number): void;
  /** Called when the server refuses the token: tells the page around, goes on without it, and asks for another. */
  dropToken(): void;
}

/** How long before its end a token is asked for again. */
const RENEW_MS = 60_000;
/** The least time until a token that works is asked for again: each new token takes another stream of events. */
const PAUSE_MS = 10_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** A page that has not said who is signed in by then gets the view of a signed-out visitor. */
const SIGN_IN_WAIT_MS = 2000;

/** Three parts in base64url. A browser does not even send what has line breaks. */
const JWT = /^[\w-]+(\.[\w-]+){2}$/;
/** Every text that is no JWT, so that one which differs each time is not asked for again and again. */
const NO_JWT = "";

/** As the server answers it; a stream that it refuses comes without words. */
const TOKEN_REFUSED = { code: "USER_REQUIRED", message: "A valid user token is required" };

/** One reading of a user's portfolio, with the attempts that it takes. */
interface Reading {
  pauses: Pauses;
  /** Whether something has changed since the read began. */
  isOutdated: boolean;
}

/** The token comes by message and is kept in memory only, by the `Api`. */
export function useViewer(data: FrameData, host: Omit<BridgeHandlers, "onToken">): Omit<Viewer, "renew"> {
  // One for as long as the document lives, whatever it shows.
  const api = useMemo(() => new Api(data), []);
  const [settled, setSettled] = useState(false);
  const [signedIn, setSignedIn] = useState(false);
  const [left, setLeft] = useState(0);
  const [handed, setHanded] = useState(0);
  const [portfolio, setPortfolio] = useState<Portfolio>();
  const [problem, setProblem] = useState<Words>();
  const renewal = useRef<ReturnType<typeof setTimeout>>(undefined);
  const bridge = useRef<Bridge>(undefined);
  const refused = useRef<string>(undefined);
  const refusedAtMs = useRef(Number.NEGATIVE_INFINITY);
  const reading = useRef<Reading>(undefined);

  /** Takes a token over. When a user leaves, the frame forgets that user's data. */
  const enter = useCallback((token: string | null): void => {
    const hasLeft = api.token !== null && userOf(token) !== userOf(api.token);
    api.token = token;
    clearTimeout(renewal.current);
    setSignedIn(token !== null);
    if (!hasLeft) return;
    setLeft((count) => count + 1);
    reading.current?.pauses.end();
    reading.current = undefined;
    setPortfolio(undefined);
    setProblem(undefined);
  }, []);

  /** @param answer what the page handed as this token */
  const refuse = (token: string, answer = token): void => {
    refused.current = token;
    enter(null);
    sayRefused(token, answer, api.clock.now());
    bridge.current?.tell("refused", { ...TOKEN_REFUSED, stage: "before" });
    // At once, and then after pauses: the page may sign one wrong token after the other.
    const pauseMs = refusedAtMs.current + PAUSE_MS - performance.now();
    refusedAtMs.current = performance.now();
    renewal.current = setTimeout(() => bridge.current?.needToken("refused"), pauseMs);
  };
  const dropToken = useCallback(() => {
    if (api.token !== null) refuse(api.token);
  }, []);

  const refresh = useCallback(async () => {
    if (api.token === null) return;
    if (reading.current) {
      reading.current.isOutdated = true;
      return reading.current.pauses.hurry();
    }
    const mine: Reading = { pauses: new Pauses(), isOutdated: false };
    reading.current = mine;
    const isWanted = (): boolean => reading.current === mine;
    try {
      do {
        mine.isOutdated = false;
        const own = await readAtLast(() => api.portfolio(), mine.pauses, {
          isWanted,
          // The last portfolio stays in sight, with words that say it may be old.
          onPause(error, retryInMs) {
            setProblem(wordsForReading(error));
            bridge.current?.tell("error", { code: error.code, message: error.message, retryInMs });
          },
        });
        if (!own || !isWanted()) return;
        setPortfolio(own);
        setProblem(undefined);
      } while (mine.isOutdated);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!isWanted()) return;
      if (error.code === "USER_REQUIRED") dropToken();
      else setProblem(wordsForReading(error));
    } finally {
      if (isWanted()) reading.current = undefined;
    }
  }, []);

  bridge.current ??= openBridge(data.mayTrade && data.apiKey !== null, {
    ...host,
    onToken(answer) {
      const token = answer === null || JWT.test(answer) ? answer : NO_JWT;
      setSettled(true);
      setHanded((count) => count + 1);
      // The page may send the refused token again; it stays refused.
      if (token !== null && token === refused.current && api.token === null) return;
      if (token === NO_JWT) return refuse(token, answer ?? token);
      if (token === null) sayReadOnly("getToken is missing or answers no token");
      // The same token again means that something about the user has changed, such as the balance.
      if (token === api.token) return void refresh();
      const isRenewal = token !== null && userOf(token) === userOf(api.token);
      enter(token);
      if (token === null) return;
      // By the server's clock, because a reader's may be wrong.
      const restMs = expiryOf(token) - api.clock.now() - RENEW_MS;
      renewal.current = setTimeout(() => {
        bridge.current?.needToken("expiring");
        if (restMs < PAUSE_MS) loadNotes().then((notes) => notes && tellOnce("warn", "getToken", notes.ENDS_SOON));
      }, clampTimer(restMs));
      if (!isRenewal) refresh();
    },
  });
  const { mayTrade } = bridge.current;

  useEffect(() => {
    if (!mayTrade) {
      loadNotes().then((notes) => notes && sayReadOnly(notes.reasonOf(data.apiKey, bridge.current?.host)));
      return setSettled(true);
    }
    bridge.current?.needToken("start");
    const timer = setTimeout(() => setSettled(true), SIGN_IN_WAIT_MS);
    return () => clearTimeout(timer);
  }, [mayTrade]);
  useEffect(() => {
    const hurry = (): void => reading.current?.pauses.hurry();
    addEventListener("online", hurry);
    return () => removeEventListener("online", hurry);
  }, []);
  useEffect(() => () => clearTimeout(renewal.current), []);
  return {
    api,
    bridge: bridge.current,
    settled,
    signedIn,
    user: userOf(api.token),
    left,
    handed,
    portfolio,
    problem,
    refresh,
    dropToken,
  };
}

function clampTimer(ms: number): number {
  return Math.min(LONGEST_TIMER_MS, Math.max(PAUSE_MS, ms));
}

/** Sentences for the page's author; undefined where they cannot be loaded. */
const loadNotes = () => import("../author-notes.ts").catch(() => undefined);

/** The service names no claim; the notes name an evident fault. */
async function sayRefused(token: string, answer: string, nowMs: number): Promise<void> {
  const notes = await loadNotes();
  const why = token === NO_JWT ? notes?.mistakeIn(answer) : notes?.faultIn(claimsOf(token), nowMs);
  sayReadOnly(why ?? TOKEN_REFUSED.message, "warn");
}

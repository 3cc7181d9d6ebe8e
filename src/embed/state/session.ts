import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { WireResult } from "../../contract/operations.ts";
import type { FrameData } from "../../contract/resources/embed.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { Api, Refused } from "../api.ts";
import { type Bridge, type BridgeHandlers, openBridge } from "../bridge.ts";
import { expiryOf, userOf } from "../token.ts";
import { type Words, wordsFor } from "../words.ts";

export type Portfolio = WireResult<"getPortfolio">;

/** The user who looks at the frame, and their portfolio. */
export interface Session {
  api: Api;
  bridge: Bridge;
  /** Whether it is known who is signed in: the page around has answered, or is not asked. */
  settled: boolean;
  /** Whether a user is signed in. */
  signedIn: boolean;
  /** Who is signed in; null when no user is. */
  user: string | null;
  /** How often the page around has handed a token: each may mean that something about the user has changed. */
  handed: number;
  portfolio: Portfolio | undefined;
  /** Why the last reading of the portfolio failed; undefined after a successful one. */
  problem: Words | undefined;
  /** Reads the portfolio again: something was bought, or settled. */
  refresh(): Promise<void>;
  /** Called when the server refuses the token: goes on without it, and asks the page around for another. */
  dropToken(): void;
}

/** How long before its end a token is asked for again. */
const RENEW_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** A page that has not said who is signed in by then gets the view of a signed-out visitor. */
const SIGN_IN_WAIT_MS = 2000;

/** The token comes by message and is kept in memory only, by the `Api`. */
export function useSession(data: FrameData, host: Omit<BridgeHandlers, "onToken">): Session {
  const api = useMemo(() => new Api(data.apiKey), [data]);
  const [settled, setSettled] = useState(false);
  const [signedIn, setSignedIn] = useState(false);
  const [handed, setHanded] = useState(0);
  const [portfolio, setPortfolio] = useState<Portfolio>();
  const [problem, setProblem] = useState<Words>();
  const renewal = useRef<ReturnType<typeof setTimeout>>(undefined);
  const bridge = useRef<Bridge>(undefined);
  const refused = useRef<string>(undefined);

  const dropToken = useCallback(() => {
    if (api.token === null) return;
    refused.current = api.token;
    api.token = null;
    clearTimeout(renewal.current);
    setSignedIn(false);
    setPortfolio(undefined);
    bridge.current?.needToken("refused");
  }, [api]);

  const refresh = useCallback(async () => {
    const { token } = api;
    if (token === null) return;
    // An answer for one user is not shown to the next, nor after signing out.
    const isStale = () => api.token === null || userOf(api.token) !== userOf(token);
    try {
      const own = await api.portfolio();
      if (isStale()) return;
      setPortfolio(own);
      setProblem(undefined);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (isStale()) return;
      if (error.code === "USER_REQUIRED") dropToken();
      else setProblem(wordsFor(error));
    }
  }, [api, dropToken]);

  bridge.current ??= openBridge(data.mayTrade && data.apiKey !== null, {
    ...host,
    onToken(token) {
      setSettled(true);
      setHanded((count) => count + 1);
      // The page may send the refused token again; it stays refused.
      if (token !== null && token === refused.current) return;
      // The same token again means that something about the user has changed, such as the balance.
      if (token === api.token) return void refresh();
      const isRenewal = token !== null && api.token !== null && userOf(token) === userOf(api.token);
      api.token = token;
      setSignedIn(token !== null);
      clearTimeout(renewal.current);
      if (token === null) return setPortfolio(undefined);
      const left = expiryOf(token) - wallClockMs() - RENEW_MS;
      renewal.current = setTimeout(() => bridge.current?.needToken("expiring"), clampTimer(left));
      if (isRenewal) return;
      setPortfolio(undefined);
      refresh();
    },
  });
  const { mayTrade } = bridge.current;

  useEffect(() => {
    if (!mayTrade) return setSettled(true);
    bridge.current?.needToken("start");
    const timer = setTimeout(() => setSettled(true), SIGN_IN_WAIT_MS);
    return () => clearTimeout(timer);
  }, [mayTrade]);
  useEffect(() => () => clearTimeout(renewal.current), []);
  return {
    api,
    bridge: bridge.current,
    settled,
    signedIn,
    user: userOf(api.token),
    handed,
    portfolio,
    problem,
    refresh,
    dropToken,
  };
}

function clampTimer(ms: number): number {
  return Math.min(LONGEST_TIMER_MS, Math.max(1000, ms));
}

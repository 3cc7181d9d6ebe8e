import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FrameData } from "../contract/embed.ts";
import type { WireResult } from "../contract/operations.ts";
import { Api, Refused } from "./api.ts";
import { type Bridge, openBridge } from "./bridge.ts";
import type { Theme } from "./protocol.ts";

export type Portfolio = WireResult<"getPortfolio">;

/** Who looks at the frame, and what belongs to them. */
export interface Session {
  api: Api;
  bridge: Bridge;
  /** Whether a user is signed in. */
  signedIn: boolean;
  portfolio: Portfolio | undefined;
  /** Reads the portfolio again: something was bought, or settled. */
  refresh(): Promise<void>;
}

/** How long before its end a token is asked for again. */
const RENEW_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The token stays in memory: it comes by message, lives in the `Api`, and goes with the page. */
export function useSession(data: FrameData, onTheme: (theme: Theme) => void): Session {
  const api = useMemo(() => new Api(data.apiKey), [data]);
  const [signedIn, setSignedIn] = useState(false);
  const [portfolio, setPortfolio] = useState<Portfolio>();
  const renewal = useRef<ReturnType<typeof setTimeout>>(undefined);
  const bridge = useRef<Bridge>(undefined);

  const refresh = useCallback(async () => {
    if (api.token === null) return;
    try {
      setPortfolio(await api.portfolio());
    } catch (error) {
      if (error instanceof Refused && error.code === "USER_REQUIRED") bridge.current?.needToken("refused");
    }
  }, [api]);

  bridge.current ??= openBridge(data.tradeOrigins, {
    onTheme,
    onToken(token) {
      if (token === api.token) return;
      api.token = token;
      setSignedIn(token !== null);
      clearTimeout(renewal.current);
      if (token === null) return setPortfolio(undefined);
      const left = expiryOf(token) - Date.now() - RENEW_MS;
      renewal.current = setTimeout(() => bridge.current?.needToken("expiring"), clampTimer(left));
      refresh();
    },
  });
  useEffect(() => () => clearTimeout(renewal.current), []);
  return { api, bridge: bridge.current, signedIn, portfolio, refresh };
}

function clampTimer(ms: number): number {
  return Math.min(LONGEST_TIMER_MS, Math.max(1000, ms));
}

/** When a JWT ends, milliseconds since the epoch. Only to renew it in time: the server alone decides whether it holds. */
function expiryOf(token: string): number {
  try {
    const payload = token.split(".")[1] ?? "";
    const { exp } = JSON.parse(atob(payload.replace(/-/g, "+").replace(/_/g, "/"))) as { exp?: number };
    return typeof exp === "number" ? exp * 1000 : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

import type { WireResult } from "../../../contract/operations.ts";
import type { CurvePoint } from "../../../domain/embed/curve-steps.ts";
import { Fault, invariant } from "../../../domain/fault.ts";
import type { StatedTheme } from "../../../domain/theme/stated-theme.ts";
import { type Languages, tagsIn } from "../../../locales/languages.ts";
import { type Speaker, speakerFor } from "../../../locales/speaker.ts";
import { type Caller, type Handlers, invoke } from "../../../services/invoke.ts";
import { refusalForAll } from "../../conditional.ts";
import type { Exchange } from "../../exchange.ts";
import type { Route } from "../../routes.ts";
import type { PageLook } from "./page-look.ts";

export type Market = WireResult<"getMarket">;

/** The data and services from which a tenant's market pages are made. */
export interface MarketSite {
  /** The tenant's display name. */
  name: string;
  /** The tenant's own address; by default the request's host. */
  baseUrl: string | undefined;
  /** Where a reader of a market's page can sign in; undefined where no page is known that takes trades. */
  signInAt(marketId: string): string | undefined;
  /** Whether search engines may list the pages. */
  robots: "index" | "noindex";
  theme: StatedTheme;
  look: PageLook;
  readers: Readers;
  handlers: Handlers;
  /** The value of the feed that settled a market, as a decimal; undefined if no feed settled it. */
  finalValueOf(id: string): Promise<string | undefined>;
  /** The proposal about a market's end that waits; undefined for none. */
  proposalAbout(id: string): Promise<WireResult<"getMarketProposal"> | undefined>;
  /** A market's prices, as its widget draws them. */
  curveOf(id: string): Promise<CurvePoint[]>;
}

const VISITOR: Caller = { actor: "anonymous" };
/** As many as a reader scrolls through; a link leads to the next page. */
const MARKETS_PER_PAGE = 60;

/**
 * The market named by a path.
 * @throws Fault MARKET_NOT_FOUND (also for an impossible id), DATABASE_UNAVAILABLE
 */
export async function readMarket({ handlers }: MarketSite, exchange: Exchange): Promise<Market> {
  return marketById(handlers, decoded(exchange.params.id ?? ""));
}

/** Like `readMarket`, by id. */
export async function marketById(handlers: Handlers, id: string | undefined): Promise<Market> {
  try {
    return (await invoke(handlers, "getMarket", { id }, VISITOR)).wire.value;
  } catch (error) {
    if (error instanceof Fault && error.code === "BAD_REQUEST") throw new Fault("MARKET_NOT_FOUND", "Market not found");
    throw error;
  }
}

/**
 * A page of the open markets.
 * @throws Fault BAD_REQUEST for a cursor of another search
 */
export async function readOpenMarkets(
  { handlers }: MarketSite,
  { q, cursor }: { q: string; cursor: string | undefined },
): Promise<WireResult<"listMarkets">> {
  const input = { ...(q === "" ? {} : { q }), ...(cursor === undefined ? {} : { cursor }), limit: MARKETS_PER_PAGE };
  return (await invoke(handlers, "listMarkets", input, VISITOR)).wire.value;
}

/** A path of the site as an absolute address. */
export function absolute({ baseUrl }: { baseUrl?: string | undefined }, exchange: Exchange, path: string): string {
  return new URL(path, baseUrl ?? requestedOrigin(exchange)).href;
}

export const marketPath = (id: string): string => `/m/${encodeURIComponent(id)}`;

/** The origin of a request to a server without its own address, as in tests. */
function requestedOrigin(exchange: Exchange): string {
  const { socket } = exchange.req;
  const scheme = "encrypted" in socket && socket.encrypted ? "https" : "http";
  const address = `${scheme}://${exchange.header("host")}`;
  if (URL.canParse(address)) return new URL(address).origin;
  invariant(socket.localPort, "a request comes over a bound socket");
  return `${scheme}://localhost:${socket.localPort}`;
}

/** The decoded segment; undefined if its percent-encoding is invalid. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Chooses the language for the readers of a tenant's pages. Times are in UTC, as the server does not know the reader's zone. */
export class Readers {
  readonly #languages: Languages;
  readonly #speakers = new Map<string, Speaker>();

  constructor(languages: Languages) {
    this.#languages = languages;
  }

  /** The language of the query's `locale`, else the browser's preference, else the tenant's language. */
  speakerOf(exchange: Exchange): Speaker {
    const asked = new URLSearchParams(exchange.search).get("locale");
    const { locale, messages } = this.#languages.choose([
      ...(asked ? [asked] : []),
      ...tagsIn(exchange.header("accept-language")),
    ]);
    const known = this.#speakers.get(locale);
    if (known) return known;
    const speaker = speakerFor(locale, messages, { timeZone: "UTC" });
    this.#speakers.set(locale, speaker);
    return speaker;
  }
}

/** A document of the market pages, which counts in the widget's bucket. */
export function pageRoute(path: string, answer: Route["answer"]): Route {
  return { method: "GET", path, forBrowsers: false, bucket: "embed", answer };
}

/** A page route whose errors any page may read. Its answers must include `FOR_ALL`. */
export function routeForAll(path: string, answer: Route["answer"]): Route {
  return { ...pageRoute(path, answer), refuse: (_, fault) => refusalForAll(fault) };
}

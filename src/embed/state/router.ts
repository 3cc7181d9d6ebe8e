import type { FrameData } from "../../contract/resources/embed.ts";
import { invariant } from "../../domain/fault.ts";
import { SIDES } from "../../domain/market/pool.ts";
import { type Api, Refused, readAtLast } from "../api.ts";
import type { Bridge } from "../bridge.ts";
import { queryOf, type Shown } from "../protocol.ts";
import { Pauses } from "../stream/pauses.ts";
import type { Wish } from "../ticket/draft.ts";
import { type HistoryEntry, placeIn } from "./history-entry.ts";

/** Why a place cannot be shown; `retryAtMs`, by `performance.now()`, when it is tried again. */
export interface Trouble {
  refused: Refused;
  retryAtMs: number | undefined;
}

/** What a place looked like when the reader left it. */
interface Memory {
  data: FrameData;
  readAtMs: number;
  scrollY: number;
  /** What its view keeps: see `useKept`. */
  kept: Map<string, unknown>;
}

/** The reader moves by `top` and `back`, and the frame scrolls along; an `update` comes from the page and scrolls nothing. */
type Arrival = "top" | "back" | "update";

/** A list that the reader left longer ago is shown as it was, and read again. */
const FRESH_MS = 30_000;
/** Views that markets are opened from. */
const ORIGINS = ["markets", "portfolio"] as const;
const MOST_MEMORIES = 20;
/** Within this time the readers of a market read it again. */
const SPREAD_MS = 2000;

/**
 * Moves between views without leaving the document, so that a lost server never shows the browser's own error page. Each
 * move is an entry of the browser's history, so that its back button works.
 */
export class Router {
  readonly #api: Api;
  readonly #bridge: Bridge;
  readonly #onChange: () => void;
  readonly #memories = new Map<number, Memory>();
  /** The frame's address without what a place adds. */
  readonly #query = new URLSearchParams(location.search);
  #place: HistoryEntry;
  #wanted: HistoryEntry;
  #trouble: Trouble | undefined;
  #pauses = new Pauses();
  #lastKey = 0;
  #renewal: ReturnType<typeof setTimeout> | undefined;
  /** The market that the reader came from. */
  #left: string | undefined;
  /** How the wanted place is reached; applied once the place is drawn. */
  #arrival: Arrival | undefined = "update";
  /** The last `view` event. */
  #told = "";

  constructor(first: FrameData, { api, bridge }: { api: Api; bridge: Bridge }, onChange: () => void) {
    this.#api = api;
    this.#bridge = bridge;
    this.#onChange = onChange;
    const stored = placeIn(history.state);
    const stated = (name: string): string | undefined => this.#query.get(name) ?? undefined;
    const [marketId, locale] = [stated("marketId"), stated("locale")];
    const from = ORIGINS.find((view) => view === stated("from"));
    const side = SIDES.find((one) => one === stated("side"));
    for (const name of ["from", "marketId", "locale", "side"]) this.#query.delete(name);
    // A reloaded document continues at its entry of the history.
    this.#lastKey = stored?.key ?? 1;
    this.#place = stored ?? {
      key: 1,
      view: first.view,
      marketId,
      locale,
      wish: side && { side, action: "buy" },
      from: from && { key: 0, view: from, locale },
    };
    this.#wanted = this.#place;
    this.#remember(this.#place, first);
    history.scrollRestoration = "manual";
    this.#record("replaceState", this.#place);
    addEventListener("popstate", ({ state }) => this.#travel(placeIn(state)));
    addEventListener("online", () => this.#pauses.hurry());
  }

  get place(): HistoryEntry {
    return this.#place;
  }

  get data(): FrameData {
    return this.#memory.data;
  }

  /** What the view of the place keeps. */
  get kept(): Map<string, unknown> {
    return this.#memory.kept;
  }

  get #memory(): Memory {
    const memory = this.#memories.get(this.#place.key);
    invariant(memory, "the place is remembered");
    return memory;
  }

  /** Whether another place is on its way. */
  get isLoading(): boolean {
    return this.#wanted !== this.#place && this.#trouble === undefined;
  }

  get trouble(): Trouble | undefined {
    return this.#trouble;
  }

  /** The place to go back to from here; undefined where the frame began. */
  get origin(): HistoryEntry | undefined {
    return this.#wanted.from;
  }

  open(marketId: string, wish?: Wish): void {
    const { locale } = this.#wanted;
    this.#go({ view: "market", marketId, wish, locale, from: this.#place }, "pushState", "top");
  }

  back(): void {
    const { from, locale } = this.#wanted;
    if (!from) return;
    // A new entry of the history: entries of the page around and of other frames may lie between.
    const memory = this.#memories.get(from.key);
    if (memory && from.locale === locale) this.#memories.set(this.#lastKey + 1, memory);
    this.#go({ ...from, locale }, "pushState", "back");
  }

  /** Shows what the page around wants. */
  show(shown: Shown): void {
    const { marketId } = queryOf(shown);
    this.#go({ view: shown.view, marketId, locale: shown.locale ?? this.#wanted.locale }, "replaceState", "update");
  }

  /** Tries at once. */
  retry(): void {
    this.#pauses.end();
    if (this.#trouble && this.#trouble.retryAtMs === undefined) this.#load(this.#wanted);
  }

  /** Called when a place has been drawn. */
  arrived(): void {
    const arrival = this.#arrival;
    if (arrival === undefined || this.#wanted !== this.#place) return;
    this.#arrival = undefined;
    const { view, market } = this.data;
    const marketId = market?.detail.id ?? this.#place.marketId;
    const told = `${view} ${marketId}`;
    if (told !== this.#told) this.#bridge.tell("view", { view, ...(marketId === undefined ? {} : { marketId }) });
    this.#told = told;
    if (arrival === "update") return;
    scrollTo(0, arrival === "back" ? (this.#memories.get(this.#place.key)?.scrollY ?? 0) : 0);
    this.#bridge.scroll(arrival);
    // A frame that the reader does not use must not take the focus.
    if (document.hasFocus()) this.#focus(arrival === "back" ? this.#left : undefined);
  }

  /** The card of the market that the reader comes back from, or the heading of what was opened. */
  #focus(left: string | undefined): void {
    const card = left === undefined ? null : document.querySelector<HTMLElement>(`[data-market="${CSS.escape(left)}"]`);
    const heading = document.querySelector<HTMLElement>("h1");
    if (!card) heading?.setAttribute("tabindex", "-1");
    (card ?? heading)?.focus({ preventScroll: true });
  }

  #go(target: Omit<HistoryEntry, "key">, how: "pushState" | "replaceState", arrival: Arrival): void {
    this.#lastKey += 1;
    const place: HistoryEntry = { ...target, key: this.#lastKey };
    this.#leave();
    this.#record(how, place);
    this.#want(place, arrival);
  }

  /** The browser's own back and forward. */
  #travel(place: HistoryEntry | undefined): void {
    if (!place) return;
    this.#leave();
    this.#want(place, place.key < this.#wanted.key ? "back" : "top");
  }

  #leave(): void {
    const memory = this.#memories.get(this.#place.key);
    if (!memory || this.#trouble) return;
    memory.scrollY = scrollY;
    this.#left = memory.data.market?.detail.id;
  }

  #want(place: HistoryEntry, arrival: Arrival): void {
    const memory = this.#memories.get(place.key);
    this.#wanted = place;
    this.#arrival = arrival;
    this.#trouble = undefined;
    this.#pauses.end();
    // A market is read again before it is shown; a list follows the prices and is read again while it is shown.
    if (!memory || memory.data.view === "market") this.#load(place);
    else {
      this.#place = place;
      if (performance.now() - memory.readAtMs > FRESH_MS) this.#renew(place);
    }
    this.#onChange();
  }

  async #load(place: HistoryEntry): Promise<void> {
    const pauses = new Pauses();
    this.#pauses = pauses;
    try {
      const data = await readAtLast(() => this.#read(place), pauses, {
        isWanted: () => this.#wanted === place && this.#pauses === pauses,
        onPause: (refused, retryInMs) => this.#fail(refused, retryInMs),
      });
      if (data === undefined) return;
      this.#remember(place, data);
      this.#place = place;
      this.#trouble = undefined;
      this.#onChange();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.#wanted === place) this.#fail(error);
    }
  }

  /** Reads what is shown again, if it was read longer ago: a little later, as all readers of a market hear of its end at once. */
  renew(ifOlderMs = 0): void {
    const place = this.#place;
    if (performance.now() - this.#memory.readAtMs < ifOlderMs) return;
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => this.#renew(place), Math.random() * SPREAD_MS);
  }

  async #renew(place: HistoryEntry): Promise<void> {
    const isWanted = (): boolean => this.#place === place;
    const data = await readAtLast(() => this.#read(place), new Pauses(), { isWanted, onPause() {} }).catch(
      (error: unknown) => {
        if (!(error instanceof Refused)) throw error;
      },
    );
    if (!data) return;
    this.#remember(place, data);
    this.#onChange();
  }

  #fail(refused: Refused, retryInMs?: number): void {
    const { code, message } = refused;
    this.#trouble = { refused, retryAtMs: retryInMs === undefined ? undefined : performance.now() + retryInMs };
    this.#bridge.tell("error", { code, message, ...(retryInMs === undefined ? {} : { retryInMs }) });
    this.#onChange();
  }

  async #read({ view, marketId, locale }: HistoryEntry): Promise<FrameData> {
    const query = new URLSearchParams(this.#query);
    if (marketId !== undefined) query.set("marketId", marketId);
    if (locale !== undefined) query.set("locale", locale);
    return this.#api.view(view, query);
  }

  #remember(place: HistoryEntry, data: FrameData): void {
    const before = this.#memories.get(place.key);
    const memory = { scrollY: 0, kept: new Map<string, unknown>(), ...before, data, readAtMs: performance.now() };
    this.#memories.set(place.key, memory);
    for (const key of this.#memories.keys()) {
      if (this.#memories.size <= MOST_MEMORIES) break;
      if (key !== this.#place.key) this.#memories.delete(key);
    }
  }

  /** Writes the place into the history, with an address that shows it when it is loaded. */
  #record(how: "pushState" | "replaceState", place: HistoryEntry): void {
    const { view, marketId, locale, wish, from } = place;
    // An address may be passed on, so it names no sale of the user.
    const side = wish?.action === "buy" ? wish.side : undefined;
    const query = new URLSearchParams(this.#query);
    query.set("theme", document.documentElement.dataset.theme ?? "auto");
    for (const [name, value] of Object.entries({ marketId, locale, side, from: from?.view }))
      if (value !== undefined) query.set(name, value);
    history[how]({ pm: place }, "", `/embed/${view}?${query}`);
  }
}

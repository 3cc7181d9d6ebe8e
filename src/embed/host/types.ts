import type { Action, Brand, EmbedEvent, Theme, View } from "../protocol.ts";

/** What a page asks for. Nothing is required. */
export interface EmbedOptions {
  /** `compare` with `marketIds`, `market` with `marketId`, else `markets`, unless given. */
  view?: View | undefined;
  /** `auto` unless given: the reader's own. */
  theme?: Theme | undefined;
  /** Height in CSS pixels; with `autoHeight` the room that is reserved at first. */
  height?: number | undefined;
  /** Which market the `market` and `card` views show; the top trending one unless given. */
  marketId?: string | undefined;
  /** The two markets of `compare`. */
  marketIds?: readonly string[] | undefined;
  /** Lets the frame grow and shrink with what it shows. */
  autoHeight?: boolean | undefined;
  /** A BCP 47 tag; the language of the page unless given. */
  locale?: string | undefined;
  /** `lazy` unless given: the frame loads when its place comes near. */
  loading?: "lazy" | "eager" | undefined;
  /** false: nothing is stored in the browser, by the page's script or by the frame. true unless given. */
  consent?: boolean | undefined;
  /** false: readers cannot sign in on this page, and the widget says where they can trade. true unless given. */
  signIn?: boolean | undefined;
  /** What the page changes of the looks, where the tenant lets it. */
  brand?: Brand | undefined;
  /** A JWT of the user who is signed in here, or nothing. Asked again before the token expires. */
  getToken?: (() => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** Told what happens in the widget. */
  onEvent?: ((event: EmbedEvent) => void) | undefined;
  /** What only the page can do for the user: sign them in, verify them, take their money, ask them questions. */
  onAction?: ((action: Action) => void) | undefined;
}

/** One widget on the page. */
export interface Embed {
  /** null where there was no place for it. */
  readonly iframe: HTMLIFrameElement | null;
  /** Changes the colours at once. */
  setTheme(theme: Theme): void;
  /** Asks `getToken` again: a user signed in or out, or something about the signed-in user changed. */
  refreshToken(): void;
  /** Changes these options and leaves the others; one that is `undefined` goes back to its default. */
  update(options: EmbedOptions): void;
  /** Takes the widget out of the page, for good. */
  destroy(): void;
}

/** What the script puts on the page, under the name that the page chose. */
export interface PredictionMarkets {
  /** Mounts a widget at the first element that matches. */
  embed(selector: string | Element, options?: EmbedOptions): Embed;
  /** Mounts a widget in the element; again on the same element, changes it and answers the same handle. */
  mount(element: Element, options?: EmbedOptions): Embed;
  /** Takes the widget out of the element again. @returns whether there was one */
  unmount(element: Element): boolean;
  /** Of the service that this script came from. */
  readonly version: string;
}

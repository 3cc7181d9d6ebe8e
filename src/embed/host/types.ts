import type { Action, Brand, EmbedEvent, Theme, View } from "../protocol.ts";

/** The options of a widget. None is required. */
export interface EmbedOptions {
  /** The default is `compare` with `marketIds`, `market` with `marketId`, else `markets`. */
  view?: View | undefined;
  /** The default, `auto`, follows the reader's system. */
  theme?: Theme | undefined;
  /** Height in CSS pixels; with `autoHeight`, the height reserved at first. */
  height?: number | undefined;
  /** The market of the views `market` and `card`. The default is the top trending market. */
  marketId?: string | undefined;
  /** The two markets of `compare`. */
  marketIds?: readonly string[] | undefined;
  /** Fits the frame's height to its contents. */
  autoHeight?: boolean | undefined;
  /** The widget's language as a BCP 47 tag. The default is the page's language. */
  locale?: string | undefined;
  /** The default, `lazy`, loads the frame when the reader scrolls near it. */
  loading?: "lazy" | "eager" | undefined;
  /** With false, neither the script nor the frame stores anything in the browser. The default is true. */
  consent?: boolean | undefined;
  /** With false, readers cannot sign in on this page, and the widget says where they can trade. The default is true. */
  signIn?: boolean | undefined;
  /** The page's changes to the look, as far as the tenant allows them. */
  brand?: Brand | undefined;
  /** Returns a JWT of the user who is signed in to the page, or nothing. Called again before the token expires. */
  getToken?: (() => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** Called with each event of the widget. */
  onEvent?: ((event: EmbedEvent) => void) | undefined;
  /** Called when the user needs the page: to sign in, to be verified, to pay in, to answer the suitability questions. */
  onAction?: ((action: Action) => void) | undefined;
}

/** One widget on the page. */
export interface Embed {
  /** null if no element was found. */
  readonly iframe: HTMLIFrameElement | null;
  /** Changes the colours at once. */
  setTheme(theme: Theme): void;
  /** Calls `getToken` again. Call it after a user has signed in or out, or after the user's data has changed. */
  refreshToken(): void;
  /** Changes these options and leaves the others. An option that is `undefined` returns to its default. */
  update(options: EmbedOptions): void;
  /** Removes the widget from the page for good. */
  destroy(): void;
}

/** The global object of the script, under the name that the page chose. */
export interface PredictionMarkets {
  /** Mounts a widget in the first element that matches. */
  embed(selector: string | Element, options?: EmbedOptions): Embed;
  /** Mounts a widget in the element. Called again on the same element, it changes the widget and returns the same handle. */
  mount(element: Element, options?: EmbedOptions): Embed;
  /** Removes the widget from the element. @returns whether there was one */
  unmount(element: Element): boolean;
  /** The version of the service that served this script. */
  readonly version: string;
}

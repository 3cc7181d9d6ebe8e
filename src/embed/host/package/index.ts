/** Loads the script of a tenant's own origin, and mounts widgets with it. Nothing runs on import, so servers can import it. */
import type { Embed, EmbedOptions, PredictionMarkets } from "../types.ts";

export type {
  Action,
  ActionName,
  Brand,
  EmbedEvent,
  EventDetails,
  EventName,
  QuoteDetail,
  Theme,
  TradeDetail,
  View,
} from "../../protocol.ts";
export type { Embed, EmbedOptions } from "../types.ts";

/** What the script exports. */
export type Script = Pick<PredictionMarkets, "embed" | "mount" | "unmount">;

const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 60_000;

const scripts = new Map<string, Promise<Script>>();
let failures = 0;

/**
 * The script of an origin, which is loaded once.
 * @param origin of the service, such as `https://predict.example.com`
 * @throws TypeError where the script cannot be loaded; the next call tries again
 */
export function load(origin: string): Promise<Script> {
  const address = new URL("/assets/v1/embed.js", origin);
  const known = scripts.get(address.origin);
  if (known) return known;
  // Browsers remember a module that failed, by its address.
  if (failures > 0) address.search = String(failures);
  const loading = import(/* webpackIgnore: true */ /* @vite-ignore */ address.href) as Promise<Script>;
  scripts.set(address.origin, loading);
  loading.catch(() => {
    failures += 1;
    scripts.delete(address.origin);
  });
  return loading;
}

/** Mounts a widget at the first element that matches. @throws TypeError as {@link load} does */
export async function embed(origin: string, selector: string | Element, options?: EmbedOptions): Promise<Embed> {
  return (await load(origin)).embed(selector, options);
}

/** Mounts a widget in the element, or changes the one that is there. @throws TypeError as {@link load} does */
export async function mount(origin: string, element: Element, options?: EmbedOptions): Promise<Embed> {
  return (await load(origin)).mount(element, options);
}

/** Takes the widget out of the element. @returns whether there was one */
export async function unmount(origin: string, element: Element): Promise<boolean> {
  const script = await scripts.get(new URL(origin).origin)?.catch(() => undefined);
  return script?.unmount(element) ?? false;
}

/** A widget that a framework keeps in an element. */
export interface Kept {
  /** Every option: one that is left out has its default. */
  update(options: EmbedOptions): void;
  setTheme: Embed["setTheme"];
  refreshToken: Embed["refreshToken"];
  end(): void;
}

const EVERY_OPTION: { [Name in keyof Required<EmbedOptions>]: undefined } = {
  ...{ view: undefined, theme: undefined, height: undefined, marketId: undefined, marketIds: undefined },
  ...{ autoHeight: undefined, locale: undefined, loading: undefined, consent: undefined, signIn: undefined },
  ...{ brand: undefined, getToken: undefined, onEvent: undefined, onAction: undefined },
};

/**
 * Keeps a widget in an element from now until `end`. Until the script is loaded, `onEvent` hears each failure, and the script is
 * requested again.
 */
export function keepWidget(origin: string, element: Element, first: EmbedOptions): Kept {
  let options = first;
  let made: Embed | undefined;
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (waitMs: number): void => {
    load(origin).then(
      (script) => {
        if (!isOver) made = script.mount(element, { ...EVERY_OPTION, ...options });
      },
      (error: unknown) => {
        if (isOver) return;
        timer = setTimeout(() => begin(Math.min(LONGEST_RETRY_MS, waitMs * 2)), waitMs);
        options.onEvent?.({
          name: "error",
          detail: { code: "UNREACHABLE", message: String(error), retryInMs: waitMs },
        });
      },
    );
  };
  begin(FIRST_RETRY_MS);
  return {
    update(next) {
      options = next;
      made?.update({ ...EVERY_OPTION, ...options });
    },
    setTheme: (theme) => made?.setTheme(theme),
    refreshToken: () => made?.refreshToken(),
    end() {
      isOver = true;
      clearTimeout(timer);
      made?.destroy();
    },
  };
}

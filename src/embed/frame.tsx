import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { FrameData } from "../contract/resources/embed.ts";
import type { Logo as LogoOf } from "../domain/theme/stated-theme.ts";
import { speakerFor } from "../locales/speaker.ts";
import type { Brand, Theme } from "./protocol.ts";
import { Speech, useSpeech } from "./speech.ts";
import { Router } from "./state/router.ts";
import { useBrand } from "./state/use-brand.ts";
import { Kept } from "./state/use-list.ts";
import { useViewer, type Viewer } from "./state/viewer.ts";
import styles from "./styles/frame.css";
import type { Wish } from "./ticket/draft.ts";
import { CardView } from "./views/card-view.tsx";
import { CompareView } from "./views/compare-view.tsx";
import { MarketView } from "./views/market-view.tsx";
import { MarketsView } from "./views/markets-view.tsx";
import { PortfolioView } from "./views/portfolio-view.tsx";
import { useSecondsUntil } from "./views/problem.tsx";
import { sayWords, wordsForReading } from "./words.ts";
import { checkWritten } from "./written.ts";

/** The document's one script: shows its first data, and then what the reader and the page around ask for. */
function Frame({ first }: { first: FrameData }) {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "auto");
  const [brand, setBrand] = useState<Brand | null>(null);
  const [, redraw] = useState({});
  const viewer: Viewer = {
    ...useViewer(first, {
      onTheme(next: Theme) {
        document.documentElement.dataset.theme = next;
        setTheme(next);
      },
      onBrand: setBrand,
      onWritten: checkWritten,
      onUpdate: (shown) => router.show(shown),
    }),
    renew: (ifOlderMs) => router.renew(ifOlderMs),
  };
  const router = useMemo(() => new Router(first, viewer, () => redraw({})), []);
  const { data, place, isLoading, trouble } = router;
  const branding = useBrand(first.theme, brand, viewer.bridge);
  const speaker = useMemo(
    () => speakerFor(data.locale, branding?.named(data.messages, data.locale) ?? data.messages),
    [data.locale, data.messages, branding],
  );
  useEffect(() => {
    document.documentElement.lang = data.locale;
    document.documentElement.dir = speaker.direction;
  }, [speaker]);
  useLayoutEffect(() => router.arrived());
  const open = (marketId: string, wish?: Wish): void => router.open(marketId, wish);
  return (
    <Speech.Provider value={speaker}>
      <Logo logo={first.theme?.logo} />
      <Kept.Provider value={router.kept}>
        {trouble ? (
          <Unavailable router={router} />
        ) : (
          <div key={place.key} aria-busy={isLoading}>
            {data.view === "market" && data.market ? (
              <MarketView
                data={data}
                market={data.market}
                viewer={viewer}
                theme={theme}
                wish={place.wish}
                {...(place.from && { back: { view: place.from.view, go: () => router.back() } })}
              />
            ) : data.view === "card" && data.market ? (
              <CardView market={data.market} viewer={viewer} open={open} />
            ) : data.view === "compare" && data.compared ? (
              <CompareView pair={data.compared} viewer={viewer} theme={theme} open={open} />
            ) : data.view === "portfolio" ? (
              <PortfolioView data={data} viewer={viewer} open={open} />
            ) : (
              <MarketsView data={data} viewer={viewer} open={open} />
            )}
          </div>
        )}
      </Kept.Provider>
    </Speech.Provider>
  );
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(styles);
document.adoptedStyleSheets.push(sheet);

/** The tenant's image, which leads to its site in a tab of its own. */
function Logo({ logo }: { logo: LogoOf | undefined }) {
  if (!logo) return null;
  const image = <img src={logo.url} alt={logo.alt} referrerpolicy="no-referrer" onError={askWithCors} />;
  return (
    <header class="logo">
      {logo.href === undefined ? (
        image
      ) : (
        <a href={logo.href} target="_blank" rel="noopener">
          {image}
        </a>
      )}
    </header>
  );
}

/**
 * The document shows only images whose server lets other origins embed them. A server that allows it by CORS, not by
 * `Cross-Origin-Resource-Policy`, has to be asked by CORS.
 */
function askWithCors({ currentTarget: image }: { currentTarget: HTMLImageElement }): void {
  if (image.crossOrigin !== null) return;
  image.crossOrigin = "anonymous";
  image.src = `${image.src}`;
}

/** Replaces a view that cannot be shown: it says why, comes back by itself, and leaves a way back. */
function Unavailable({ router }: { router: Router }) {
  const speaker = useSpeech();
  const { say } = speaker;
  const { trouble, origin } = router;
  const left = useSecondsUntil(trouble?.retryAtMs);
  if (!trouble) return null;
  return (
    <main class="unavailable" data-pm="unavailable">
      <p role="status">{sayWords(speaker, wordsForReading(trouble.refused))}</p>
      {left > 0 && <p class="soft">{say("state.retryIn", { count: left })}</p>}
      <p class="ways">
        <button type="button" onClick={() => router.retry()}>
          {say("state.retry")}
        </button>
        {origin && (
          <button type="button" class="link" data-pm="back" onClick={() => router.back()}>
            {say("common.back")}
          </button>
        )}
      </p>
    </main>
  );
}

const place = document.getElementById("app");
const block = document.getElementById("data");
if (place && block) {
  const first = JSON.parse(block.textContent ?? "{}") as FrameData;
  // What the server wrote is for readers without scripts, and for the moment before this one.
  place.replaceChildren();
  delete place.dataset.static;
  render(<Frame first={first} />, place);
}

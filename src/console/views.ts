import type { ComponentType } from "preact";
import type { ViewProps } from "./desk.ts";
import type { Place } from "./router.ts";
import { ConfigurationView } from "./views/configuration.tsx";
import { FundsView } from "./views/funds.tsx";
import { MarketView } from "./views/market/market.tsx";
import { MarketsView } from "./views/markets.tsx";
import { OracleView } from "./views/oracle.tsx";
import { OverviewView } from "./views/overview.tsx";
import { EntryView } from "./views/record/entry.tsx";
import { RecordView } from "./views/record.tsx";
import { RiskView } from "./views/risk.tsx";
import { SystemView } from "./views/system.tsx";
import { TodayView } from "./views/today.tsx";
import { TraderView } from "./views/traders/trader.tsx";
import { TradersView } from "./views/traders.tsx";
import { WebhooksView } from "./views/webhooks/webhooks.tsx";

export interface ViewEntry {
  name: string;
  /** Below `/console`. */
  path: string;
  /** Pressed after `g`. */
  key: string;
  view: ComponentType<ViewProps>;
  /** The page of one thing, below the view's own path. */
  one?: ComponentType<ViewProps>;
}

/** Every view, in the order of the navigation. A new one is a row here. */
export const VIEWS: readonly ViewEntry[] = [
  { name: "Today", path: "/", key: "t", view: TodayView },
  { name: "Overview", path: "/overview", key: "o", view: OverviewView },
  { name: "Markets", path: "/markets", key: "m", view: MarketsView, one: MarketView },
  { name: "Risk", path: "/risk", key: "r", view: RiskView },
  { name: "Traders", path: "/traders", key: "u", view: TradersView, one: TraderView },
  { name: "Funds", path: "/funds", key: "f", view: FundsView },
  { name: "Oracle", path: "/oracle", key: "p", view: OracleView },
  { name: "Configuration", path: "/configuration", key: "c", view: ConfigurationView },
  { name: "Record", path: "/record", key: "a", view: RecordView, one: EntryView },
  { name: "Webhooks", path: "/webhooks", key: "w", view: WebhooksView },
  { name: "System", path: "/system", key: "s", view: SystemView },
];

/** The view at a place; undefined for an unknown address. */
export function viewAt({
  path,
}: Pick<Place, "path">): { entry: ViewEntry; view: ComponentType<ViewProps>; id: string } | undefined {
  const [, name = "", id = "", ...rest] = path.split("/");
  const entry = VIEWS.find((each) => each.path === `/${name}`);
  if (!entry || rest.length > 0) return undefined;
  if (id === "") return { entry, view: entry.view, id };
  return entry.one && { entry, view: entry.one, id: decoded(id) };
}

/** An id that is no valid text leads to a thing that does not exist. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

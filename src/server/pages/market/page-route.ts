import type { Route } from "../../routes.ts";
import { refusalForAll } from "../conditional.ts";

/** A document of the market pages, which counts in the widget's bucket. */
export function pageRoute(path: string, answer: Route["answer"]): Route {
  return { method: "GET", path, forBrowsers: false, bucket: "embed", answer };
}

/** One whose refusals any page may read. Its answers have `FOR_ALL`. */
export function routeForAll(path: string, answer: Route["answer"]): Route {
  return { ...pageRoute(path, answer), refuse: (_, fault) => refusalForAll(fault) };
}

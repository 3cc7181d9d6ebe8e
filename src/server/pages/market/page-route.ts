import type { Fault } from "../../../domain/fault.ts";
import { type Answer, type Header, refusal } from "../../responses.ts";
import type { Route } from "../../routes.ts";

/** Any page may read pictures and oEmbed, refusals too. */
export const FOR_ALL: readonly Header[] = [
  ["access-control-allow-origin", "*"],
  ["cross-origin-resource-policy", "cross-origin"],
];

/** A document of the market pages, which counts in the widget's bucket. */
export function pageRoute(path: string, answer: Route["answer"]): Route {
  return { method: "GET", path, forBrowsers: false, bucket: "embed", answer };
}

/** One whose refusals any page may read. Its answers have `FOR_ALL`. */
export function routeForAll(path: string, answer: Route["answer"]): Route {
  return { ...pageRoute(path, answer), refuse: (_, fault) => refusalForAll(fault) };
}

function refusalForAll(fault: Fault): Answer {
  const { headers = [], ...answer } = refusal(fault);
  return { ...answer, headers: [...headers, ...FOR_ALL] };
}

import { isLoopback } from "../../domain/access/networks.ts";
import { readAssets } from "../../server/pages/assets.ts";
import { tenantFetch } from "../doors/trust.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";

/** The result of one check. */
export interface Check {
  check: string;
  result: "ok" | "warn" | "fail";
  detail: string;
}

interface CheckTerms {
  /** The server's address; `baseUrl` of the tenant file unless given. */
  url: string | undefined;
  /** The site that shows the widget; undefined to leave its checks out. */
  origin: string | undefined;
}

/** The beginning of the detail of a check without an answer. */
export const NO_ANSWER = "no answer";

const TIMEOUT_MS = 5000;

/** Makes every check, whether or not another fails, so that one run shows every problem. */
export async function checkEmbed(tenant: OperatorTenant, { origin, ...asked }: CheckTerms): Promise<Check[]> {
  const { baseUrl, embed } = tenant.config;
  const { url = baseUrl } = asked;
  const fetch = await tenantFetch(tenant, { url, accepts: "stated" });
  const host = origin === undefined ? "" : `?host=${encodeURIComponent(origin)}`;
  const [script, frame] = await Promise.all([
    ask(fetch, `${url}/assets/embed.js`),
    ask(fetch, `${url}/embed/markets${host}`),
  ]);
  return [
    checkHttps(url),
    checkScript(script, readAssets().loader),
    checkFrame(frame),
    checkAddress(url, baseUrl),
    ...(origin === undefined
      ? []
      : [checkOrigin(origin, baseUrl, embed.allowedOrigins), checkAncestors(origin, frame)]),
  ];
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

async function ask(request: typeof fetch, address: string): Promise<Answer | string> {
  try {
    const response = await request(address, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return `${NO_ANSWER}: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}

function checkHttps(url: string): Check {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return { check: "https", result: "ok", detail: "pages with TLS may show it" };
  return isLoopback(hostname)
    ? { check: "https", result: "warn", detail: "no TLS: fine on this machine, but pages with TLS show no such frame" }
    : { check: "https", result: "fail", detail: "no TLS: pages with TLS show no such frame" };
}

function checkScript(answer: Answer | string, loader: string): Check {
  const check = "script";
  if (typeof answer === "string") return { check, result: "fail", detail: answer };
  const { status, headers, text } = answer;
  if (status !== 200) return { check, result: "fail", detail: `/assets/embed.js answers ${status}` };
  if (!/javascript/.test(headers.get("content-type") ?? ""))
    return { check, result: "fail", detail: "/assets/embed.js is not sent as a script" };
  if (headers.get("access-control-allow-origin") !== "*")
    return { check, result: "fail", detail: "its CORS header is missing, so the integrity attribute stops it" };
  return text === loader
    ? { check, result: "ok", detail: "the loader of this build" }
    : { check, result: "warn", detail: "another build's loader: print the snippet with that build" };
}

function checkFrame(answer: Answer | string): Check {
  const check = "frame";
  if (typeof answer === "string") return { check, result: "fail", detail: answer };
  const { status, headers } = answer;
  if (status !== 200) return { check, result: "fail", detail: `/embed/markets answers ${status}` };
  if (headers.has("x-frame-options"))
    return { check, result: "fail", detail: "something in between adds X-Frame-Options: take that away" };
  return (headers.get("content-security-policy") ?? "").includes("script-src 'nonce-")
    ? { check, result: "ok", detail: "its policy allows its own script and nothing else" }
    : { check, result: "fail", detail: "its Content-Security-Policy is missing: does something in between drop it?" };
}

/** The tenant's own pages are recognised by `baseUrl`, which therefore has to be the address that people use. */
function checkAddress(url: string, baseUrl: string): Check {
  const [asked, own] = [new URL(url).origin, new URL(baseUrl).origin];
  return asked === own
    ? { check: "baseUrl", result: "ok", detail: own }
    : { check: "baseUrl", result: "warn", detail: `asked ${asked}, and the tenant file says ${own}` };
}

function checkOrigin(origin: string, baseUrl: string, allowedOrigins: readonly string[]): Check {
  const check = "may trade";
  if (allowedOrigins.includes(origin) || origin === new URL(baseUrl).origin)
    return { check, result: "ok", detail: `${origin} may trade` };
  const listed = allowedOrigins.join(", ") || "no site, so that any page may show it read-only";
  return { check, result: "fail", detail: `${origin} is not in embed.allowedOrigins, which names ${listed}` };
}

/** The server's own list, which may be older than the file's. */
function checkAncestors(origin: string, answer: Answer | string): Check {
  const check = "frame-ancestors";
  if (typeof answer === "string") return { check, result: "fail", detail: answer };
  const sources = /frame-ancestors ([^;]*)/.exec(answer.headers.get("content-security-policy") ?? "")?.[1] ?? "";
  const list = sources.split(" ");
  const allowed = list.includes("*") || list.includes(origin);
  return {
    check,
    result: allowed ? "ok" : "fail",
    detail: allowed
      ? sources
      : `${sources ? `the server lets only ${sources}` : "the server lets no site"} show it: is it running with the new file?`,
  };
}

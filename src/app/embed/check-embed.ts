import type { Fetch, FetchedHeaders } from "../../client/fetch.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { readMessageFiles } from "../../config/tenant-files/message-files.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import { Languages } from "../../locales/languages.ts";
import { LOADER_PATH, readAssets } from "../../server/pages/assets.ts";
import { verifyingFetch } from "../tenant/door.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";

/** The result of one check. */
export interface Check {
  check: string;
  result: "ok" | "warn" | "fail";
  detail: string;
}

interface CheckTerms {
  /** The server's address (default: `baseUrl` of the tenant file). */
  url: string | undefined;
  /** The site that shows the widget; undefined to skip its checks. */
  origin: string | undefined;
}

/** The first words of a check's detail when no answer came. */
export const NO_ANSWER = "no answer";

const TIMEOUT_MS = 5000;
/** A name that no build has. */
const NO_ASSET = "/assets/embed-0000000000000000.js";

/** Runs every check even when another one fails, so that one run shows every problem. */
export async function checkEmbed(tenant: OperatorTenant, { origin, ...asked }: CheckTerms): Promise<Check[]> {
  const { source, baseUrl, embed } = tenant.config;
  const { url = baseUrl } = asked;
  const fetch = await verifyingFetch();
  const host = origin === undefined ? "" : `?host=${encodeURIComponent(origin)}`;
  const [script, head, missing, frame] = await Promise.all([
    ask(fetch, url + LOADER_PATH),
    ask(fetch, url + LOADER_PATH, "HEAD"),
    ask(fetch, url + NO_ASSET),
    ask(fetch, `${url}/embed/markets${host}`),
  ]);
  return [
    checkHttps(url),
    checkScript(script, { head, missing, loader: readAssets().loader }),
    checkFrame(frame),
    checkAddress(url, baseUrl, frame),
    ...(origin === undefined
      ? []
      : [
          checkOrigin(origin, { baseUrl, allowedOrigins: embed.allowedOrigins, file: source.file, frame }),
          checkAncestors(origin, frame),
        ]),
  ];
}

interface Fetched {
  status: number;
  headers: FetchedHeaders;
  text: string;
}

async function ask(request: Fetch, address: string, method = "GET"): Promise<Fetched | string> {
  try {
    const response = await request(address, { method, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
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
    ? { check: "https", result: "warn", detail: "no TLS: fine on this machine, but pages with TLS do not show it" }
    : { check: "https", result: "fail", detail: "no TLS: pages with TLS do not show it" };
}

interface ScriptTerms {
  /** The answer to HEAD at the same address. */
  head: Fetched | string;
  /** The answer at an address that no build has. */
  missing: Fetched | string;
  /** The loader of this build. */
  loader: string;
}

/** Checks the loader at the address that snippets name. */
function checkScript(answer: Fetched | string, { head, missing, loader }: ScriptTerms): Check {
  const check = "script";
  const fail = (detail: string): Check => ({ check, result: "fail", detail });
  for (const each of [answer, head, missing]) if (typeof each === "string") return fail(each);
  const [{ status, headers, text }, asked, refused] = [answer, head, missing] as [Fetched, Fetched, Fetched];
  const isForAll = (each: FetchedHeaders): boolean => each.get("access-control-allow-origin") === "*";
  if (status !== 200) return fail(`${LOADER_PATH} answers ${status}`);
  if (!/javascript/.test(headers.get("content-type") ?? "")) return fail(`${LOADER_PATH} is not sent as a script`);
  if (!isForAll(headers)) return fail("its CORS header is missing, so pages cannot import it");
  if (headers.get("cross-origin-resource-policy") !== "cross-origin")
    return fail("its Cross-Origin-Resource-Policy is missing, so isolated pages may not load it");
  if (asked.status !== status || asked.headers.get("etag") !== headers.get("etag"))
    return fail(`HEAD ${LOADER_PATH} answers ${asked.status}, or another version`);
  if (refused.status !== 404 || !isForAll(refused.headers))
    return fail(`an unknown file beneath /assets/ answers ${refused.status}, or without its CORS header`);
  if (text !== loader)
    return { check, result: "warn", detail: "another build's loader, which works: its address is the same" };
  return maxAgeOf(headers) === 300 && headers.get("etag") !== null
    ? { check, result: "ok", detail: "the loader of this build" }
    : { check, result: "warn", detail: "a proxy or CDN changes its cache time, so that upgrades arrive late" };
}

/** In seconds; undefined where the answer states no age. */
function maxAgeOf(headers: FetchedHeaders): number | undefined {
  const stated = /max-age=(\d+)/.exec(headers.get("cache-control") ?? "")?.[1];
  return stated === undefined ? undefined : Number(stated);
}

function checkFrame(answer: Fetched | string): Check {
  const check = "frame";
  const fail = (detail: string): Check => ({ check, result: "fail", detail });
  if (typeof answer === "string") return fail(answer);
  const { status, headers } = answer;
  if (status !== 200) return fail(`/embed/markets answers ${status}`);
  if (headers.get("x-frame-options") !== null)
    return fail("a proxy or CDN adds X-Frame-Options: remove that header there");
  const policy = headers.get("content-security-policy") ?? "";
  if (!policy.includes("script-src 'self'") || !policy.includes("style-src 'sha256-"))
    return fail("its Content-Security-Policy is missing: does a proxy or CDN drop it?");
  if (headers.get("cross-origin-embedder-policy") !== "require-corp")
    return {
      check,
      result: "warn",
      detail: "its Cross-Origin-Embedder-Policy is missing, so isolated pages show nothing",
    };
  return maxAgeOf(headers) === 1
    ? { check, result: "ok", detail: "its policy allows its own script and nothing else" }
    : { check, result: "warn", detail: "a proxy or CDN changes its cache time, so that prices arrive late" };
}

/** The frame recognises the tenant's own pages by `baseUrl`, so this must be the address that people use. */
function checkAddress(url: string, baseUrl: string, answer: Fetched | string): Check {
  if (typeof answer === "string") return { check: "baseUrl", result: "fail", detail: answer };
  const [asked, own] = [new URL(url).origin, new URL(baseUrl).origin];
  return asked === own
    ? { check: "baseUrl", result: "ok", detail: own }
    : { check: "baseUrl", result: "warn", detail: `the check asked ${asked}, but the tenant file says ${own}` };
}

interface OriginTerms {
  baseUrl: string;
  /** From the tenant file. */
  allowedOrigins: readonly string[];
  /** The tenant file, as the operator names it. */
  file: string;
  /** The server's answer for a frame on that site. */
  frame: Fetched | string;
}

/** A site may trade when the running server lists it; the file only shows what the next start will read. */
function checkOrigin(origin: string, { baseUrl, allowedOrigins, file, frame }: OriginTerms): Check {
  const check = "may trade";
  const fail = (detail: string): Check => ({ check, result: "fail", detail });
  if (origin === new URL(baseUrl).origin) return { check, result: "ok", detail: `${origin} may trade` };
  if (!allowedOrigins.includes(origin)) {
    const listed = allowedOrigins.join(", ") || "no site, so that any page may show it read-only";
    return fail(
      `${origin} is not in embed.allowedOrigins, which names ${listed}: add it to embed.allowedOrigins of ${file}, apply, and restart the server`,
    );
  }
  if (typeof frame === "string") return fail(frame);
  return ancestorsOf(frame).includes(origin)
    ? { check, result: "ok", detail: `${origin} may trade` }
    : fail(`the tenant file lists ${origin}, and the running server does not: restart it with the new file`);
}

function checkAncestors(origin: string, answer: Fetched | string): Check {
  const check = "frame-ancestors";
  if (typeof answer === "string") return { check, result: "fail", detail: answer };
  const list = ancestorsOf(answer);
  const sources = list.join(" ");
  if (list.includes("*") || list.includes(origin)) return { check, result: "ok", detail: sources };
  const lets = sources === "" ? "the server allows no site to" : `the server lets only ${sources}`;
  return { check, result: "fail", detail: `${lets} show it: is it running with the new file?` };
}

/** The sites that the running server allows to show its frames; its list may be older than the file's. */
function ancestorsOf({ headers }: Fetched): readonly string[] {
  const sources = /frame-ancestors ([^;]*)/.exec(headers.get("content-security-policy") ?? "")?.[1] ?? "";
  return sources.split(" ").filter((source) => source !== "");
}

/**
 * The languages of a tenant's readers: the built-in ones and those of its files.
 * @throws ConfigError with the problems of the files
 */
export function languagesFor(config: TenantConfig): Languages {
  const { locale, categories, theme } = config.embed;
  return new Languages({ locale, categories, words: theme.words, messages: readMessageFiles(config) });
}

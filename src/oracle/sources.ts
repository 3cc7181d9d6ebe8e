import { PRESETS } from "../domain/feeds/presets.ts";
import type { HttpSource, Source, SourceOverride } from "../domain/feeds/source.ts";

const TIMEOUT_MS = 5000;

/** The sources of a tenant, and its unusable sources. */
export interface SourceSet {
  ready: ReadonlyMap<string, Source>;
  /** By name, what the tenant file must still state. */
  lacking: ReadonlyMap<string, string>;
}

/**
 * The presets with the tenant's changes, and the tenant's own sources. The file's rules check that a source is
 * complete.
 */
export function sourceSet(overrides: Readonly<Record<string, SourceOverride>> = {}): SourceSet {
  const ready = new Map<string, Source>();
  const lacking = new Map<string, string>();
  for (const name of new Set([...Object.keys(PRESETS), ...Object.keys(overrides)])) {
    const override = overrides[name] ?? {};
    const source = assemble(PRESETS[name], override);
    const missing = source?.kind === "http" ? missingParts(source, override) : [];
    if (!source) lacking.set(name, "its description");
    else if (missing.length > 0) lacking.set(name, missing.join(" and "));
    else ready.set(name, source);
  }
  return { ready, lacking };
}

function assemble(preset: HttpSource | undefined, override: SourceOverride): Source | undefined {
  const { simulated, push, timeout, headers, upstream, ...parts } = override;
  if (simulated) return { kind: "simulated", ...simulated, upstream };
  if (push) return { kind: "push", upstream };
  const { url = preset?.url, price = preset?.price, time = preset?.time } = parts;
  if (url === undefined || !price || !time) return undefined;
  return {
    ...preset,
    kind: "http",
    url,
    price,
    time,
    headers: { ...preset?.headers, ...headers },
    query: parts.query,
    conf: parts.conf ?? (parts.price ? undefined : preset?.conf),
    okWhen: parts.okWhen ?? preset?.okWhen,
    limit: parts.limit ?? preset?.limit,
    timeoutMs: timeout ?? preset?.timeoutMs ?? TIMEOUT_MS,
    upstream,
    // Another address may have no history, and trades do not match a price read from elsewhere in the answer.
    historyUrl: parts.url === undefined ? preset?.historyUrl : undefined,
    trades: parts.url === undefined && !parts.price ? preset?.trades : undefined,
    candles: parts.url === undefined && !parts.price ? preset?.candles : undefined,
  };
}

function missingParts({ needs = [] }: HttpSource, { url, headers = {}, query }: SourceOverride): string[] {
  // A tenant that states another address also states what it requires.
  if (url !== undefined && !needs.includes("url")) return [];
  const has = {
    url: url !== undefined,
    authorization: Object.keys(headers).length > 0,
    query: Object.keys(query ?? {}).length > 0,
  };
  const names = { url: "url", authorization: "a header with the key", query: "query with the key" };
  return needs.filter((need) => !has[need]).map((need) => names[need]);
}

import { nearest } from "../../domain/nearest.ts";
import { parseReference } from "../../domain/reference.ts";
import { displayPath, readConfigFile } from "../bounded-file.ts";
import { ConfigError, type Finding, fileProblem, type Path, type Position, type Problem } from "../config-error.ts";
import { decode } from "../issues.ts";
import { guideTo } from "../schema/files.ts";
import { MAX_MARKETS_PER_FILE, type MarketEntry, MarketEntrySchema } from "../schema/market-schema.ts";
import { YamlSource } from "../yaml/yaml-source.ts";
import { matchMarketFiles } from "./market-walk.ts";

/** A market in a file (decoded: `closeAt` in milliseconds, `liquidityUsd` in micro-dollars), with its place. */
export interface PlacedMarket extends MarketEntry {
  source: Position & { file: string };
}

interface CheckedMarkets {
  /** The markets without problems. */
  markets: PlacedMarket[];
  problems: Problem[];
}

/** The context for reading a tenant's market files. */
interface MarketContext {
  /** Adds positions in the tenant file to findings about its patterns. */
  locate?: (findings: readonly Finding[]) => Problem[];
  /** The keys of the tenant's feeds; undefined with a custom oracle, or if unknown. */
  feeds?: readonly string[] | undefined;
}

/**
 * Reads the market files of a tenant, in the order of the patterns and of the matching names.
 *
 * @param directory the tenant's folder
 * @param patterns `markets.files`
 */
export function checkMarketFiles(
  directory: string,
  patterns: readonly string[],
  { locate = (findings) => findings.map(({ message }) => fileProblem(directory, message)), feeds }: MarketContext = {},
): CheckedMarkets {
  const taken = new Map<string, string>();
  const { files, findings } = matchMarketFiles(directory, patterns);
  const checked = files.map((file) => {
    try {
      return checkMarketFile(readConfigFile(file), file, taken, feeds);
    } catch (error) {
      if (error instanceof ConfigError) return { markets: [], problems: error.problems };
      throw error;
    }
  });
  return {
    markets: checked.flatMap(({ markets }) => markets),
    problems: [...locate(findings), ...checked.flatMap(({ problems }) => problems)],
  };
}

/**
 * Reads one market file: one market, or a list.
 *
 * @param taken the first place of each key and each `import`; this file's places are added
 * @param feeds as in {@link MarketContext}
 */
export function checkMarketFile(
  text: string,
  file: string,
  taken: Map<string, string>,
  feeds?: readonly string[],
): CheckedMarkets {
  const guide = guideTo("market");
  const yaml = new YamlSource(text, displayPath(file), guide);
  if (yaml.syntaxProblems.length > 0) return { markets: [], problems: [...yaml.syntaxProblems] };
  if (yaml.value === null) return { markets: [], problems: [fileProblem(yaml.file, "is empty")] };

  const entries: [Path, unknown][] = Array.isArray(yaml.value)
    ? yaml.value.map((entry, index) => [[index], entry])
    : [[[], yaml.value]];
  const markets: PlacedMarket[] = [];
  const findings: Finding[] = [];
  if (entries.length > MAX_MARKETS_PER_FILE)
    findings.push({
      path: [MAX_MARKETS_PER_FILE],
      message: `a file may contain at most ${MAX_MARKETS_PER_FILE} markets`,
    });
  for (const [path, entry] of entries.slice(0, MAX_MARKETS_PER_FILE)) {
    const { data: market, findings: wrong } = decode(MarketEntrySchema, entry, { guide, root: yaml.value, base: path });
    if (wrong) {
      findings.push(...wrong);
      continue;
    }
    const keyPath = [...path, "key"];
    const position = yaml.positionOf(keyPath);
    const earlier = taken.get(market.key);
    if (earlier !== undefined)
      findings.push({ path: keyPath, message: `must be unique: it is already used at ${earlier}`, code: "CONFLICT" });
    else taken.set(market.key, `${yaml.file}:${position.line}`);
    findings.push(...repeatedImport(market, `${yaml.file}:${position.line}`, path, taken));
    if (market.moved === market.key)
      findings.push({
        path: [...path, "moved"],
        message: "must be the market's earlier key",
        code: "CONFLICT",
      });
    findings.push(...unknownFeed(market, feeds, path));
    markets.push({ ...market, source: { file: yaml.file, ...position } });
  }
  return { markets, problems: yaml.problems(findings) };
}

/** A market that another entry imports too. */
function repeatedImport({ import: id }: MarketEntry, place: string, path: Path, taken: Map<string, string>): Finding[] {
  if (id === undefined) return [];
  // A key contains no space.
  const name = `import ${id}`;
  const earlier = taken.get(name);
  if (earlier === undefined) taken.set(name, place);
  if (earlier === undefined) return [];
  return [{ path: [...path, "import"], message: `must be unique: it is imported at ${earlier}`, code: "CONFLICT" }];
}

/** A reference to an unknown feed: the market would wait for a person. @param feeds as in {@link MarketContext} */
export function unknownFeed(
  { resolutionRef, meta }: { resolutionRef: string; meta?: Readonly<Record<string, unknown>> | undefined },
  feeds: readonly string[] | undefined,
  path: Path,
): Finding[] {
  if (feeds === undefined) return [];
  const parsed = parseReference(resolutionRef);
  const feed = parsed.kind === "reference" ? parsed.reference.feed : parsed.kind === "key" ? parsed.feed : undefined;
  const isCompared = parsed.kind === "reference" || meta?.strike !== undefined;
  if (feed === undefined || !isCompared || feeds.includes(feed)) return [];
  const near = nearest(feed, feeds);
  const hint = near === undefined ? "`pmctl oracle feeds` lists them" : `did you mean ${near}?`;
  return [
    {
      path: [...path, "resolutionRef"],
      message: `there is no feed ${feed}; ${hint}`,
      code: "UNKNOWN_FEED",
      meant: near && resolutionRef.replace(/[^\s<>=]+/, near),
    },
  ];
}

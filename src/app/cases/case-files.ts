import { dirname, join } from "node:path";
import { displayPath, readConfigFile } from "../../config/bounded-file.ts";
import { ConfigError, type Finding, fileProblem, type Path, type Problem } from "../../config/config-error.ts";
import { decode } from "../../config/issues.ts";
import { type Case, CaseSchema, MAX_CASES_PER_FILE, type Step } from "../../config/schema/case-schema.ts";
import { guideTo } from "../../config/schema/files.ts";
import { checkMarketFile, type PlacedMarket } from "../../config/tenant-files/market-files.ts";
import { matchMarketFiles } from "../../config/tenant-files/market-walk.ts";
import { YamlSource } from "../../config/yaml/yaml-source.ts";
import { nearest } from "../../domain/nearest.ts";
import { counted } from "../../domain/text.ts";
import { isoTime } from "../../domain/time/clock.ts";
import { parseTime } from "../../domain/time/time-grammar.ts";

/** The files with a tenant's cases, relative to its folder. */
const CASE_FILES = "tests/*.yaml";

/** A case, and the places of its values. */
export interface PlacedCase {
  spec: Case;
  source: YamlSource;
  /** The markets that the case takes from files, by the case's names for them. */
  marketFiles: ReadonlyMap<string, PlacedMarket>;
}

interface CheckedCases {
  /** The valid cases. */
  cases: PlacedCase[];
  problems: readonly Problem[];
}

/**
 * Reads the cases of a tenant, in the order of file names and documents.
 *
 * @param file the tenant file
 * @param feeds the keys of the tenant's feeds
 * @throws ConfigError with every problem of all files
 */
export function loadCases(file: string, feeds: readonly string[]): PlacedCase[] {
  const directory = dirname(file);
  const { files, findings } = matchMarketFiles(directory, [CASE_FILES]);
  const markets = new MarketFiles(directory);
  const checked = files.map((each) => checkCaseFile(each, markets, feeds));
  const problems = [
    ...findings.map(({ message }) => fileProblem(displayPath(join(directory, "tests")), message)),
    ...checked.flatMap((each) => each.problems),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  return checked.flatMap(({ cases }) => cases);
}

function checkCaseFile(file: string, markets: MarketFiles, feeds: readonly string[]): CheckedCases {
  const shown = displayPath(file);
  try {
    const documents = YamlSource.documentsOf(readConfigFile(file), shown, guideTo("case"));
    if (documents.length > MAX_CASES_PER_FILE)
      return { cases: [], problems: [fileProblem(shown, `holds more than ${MAX_CASES_PER_FILE} cases`)] };
    const checked = documents.map((source) => checkCase(source, markets, feeds));
    return { cases: checked.flatMap(({ cases }) => cases), problems: checked.flatMap(({ problems }) => problems) };
  } catch (error) {
    if (error instanceof ConfigError) return { cases: [], problems: error.problems };
    throw error;
  }
}

function checkCase(source: YamlSource, markets: MarketFiles, feeds: readonly string[]): CheckedCases {
  if (source.syntaxProblems.length > 0) return { cases: [], problems: source.syntaxProblems };
  const { data: spec, findings: wrong } = decode(CaseSchema, source.value, { guide: guideTo("case") });
  if (wrong) return { cases: [], problems: source.problems(wrong) };
  const findings = [...unknownFeeds(spec, feeds), ...unknownNames(spec)];
  const marketFiles = new Map<string, PlacedMarket>();
  for (const [name, { file }] of Object.entries(spec.given.markets)) {
    if (file === undefined) continue;
    const found = markets.find(file, name);
    if (typeof found === "string") findings.push({ path: ["given", "markets", name, "file"], message: found });
    else marketFiles.set(name, found);
  }
  findings.push(...closedMarkets(spec, marketFiles));
  return findings.length > 0
    ? { cases: [], problems: source.problems(findings) }
    : { cases: [{ spec, source, marketFiles }], problems: [] };
}

/** Finds markets that would be closed before the case begins, so that no step could use them. */
function closedMarkets({ given, now }: Case, marketFiles: PlacedCase["marketFiles"]): Finding[] {
  return Object.entries(given.markets).flatMap(([name, { closeAt }]): Finding[] => {
    const closing = closeAt === undefined ? marketFiles.get(name)?.closeAt : parseTime(closeAt, now, "ahead");
    if (closing === undefined || closing > now) return [];
    const message = `the market closes at ${isoTime(closing)}, and the case begins at its \`now\`, ${isoTime(now)}: state a later closeAt here, or an earlier now`;
    return [
      { path: ["given", "markets", name, closeAt === undefined ? "file" : "closeAt"], message, code: "CONFLICT" },
    ];
  });
}

function unknownFeeds({ when }: Case, feeds: readonly string[]): Finding[] {
  return when.flatMap(({ price }, index): Finding[] => {
    if (price === undefined || feeds.includes(price.feed)) return [];
    const meant = nearest(price.feed, feeds);
    const hint = meant === undefined ? "`pmctl oracle feeds` lists them" : `did you mean ${meant}?`;
    const message = `there is no feed ${price.feed}; ${hint}`;
    return [{ path: ["when", index, "price", "feed"], message, code: "UNKNOWN_FEED", meant }];
  });
}

/** The market files that cases name, each read once. */
class MarketFiles {
  readonly #directory: string;
  readonly #read = new Map<string, readonly PlacedMarket[]>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * The market whose key is the name, else the file's only market. A text explains why there is none.
   *
   * @throws ConfigError with the problems of the market file
   */
  find(file: string, name: string): PlacedMarket | string {
    const markets = this.#read.get(file) ?? this.#load(file);
    if (typeof markets === "string") return markets;
    this.#read.set(file, markets);
    const [only, ...others] = markets;
    const found = markets.find(({ key }) => key === name) ?? (others.length === 0 ? only : undefined);
    return found ?? `holds ${counted(markets.length, "market")}, and none has the key ${name}`;
  }

  #load(file: string): readonly PlacedMarket[] | string {
    const { files, findings } = matchMarketFiles(this.#directory, [file]);
    const [problem] = findings;
    if (problem) return problem.message;
    if (files.length === 0) return "is not a file below the tenant's folder";
    const taken = new Map<string, string>();
    const checked = files.map((each) => checkMarketFile(readConfigFile(each), each, taken));
    const problems = checked.flatMap((each) => each.problems);
    if (problems.length > 0) throw new ConfigError(problems);
    return checked.flatMap(({ markets }) => markets);
  }
}

/** The kinds of names in `given`. */
type Kind = "users" | "markets";

/** A user or a market that a case mentions. */
interface Mention {
  kind: Kind;
  name: string;
  path: Path;
  /** Where the name is a key: the other keys of the same mapping. */
  beside?: readonly string[];
}

/**
 * Finds users and markets in `when` and `then` that `given` does not have. The engine takes a misspelled user for a
 * stranger without money, who would meet many expectations. A step may name an unknown market to test the refusal.
 */
function unknownNames({ given, when, then }: Case): Finding[] {
  const mentions = [
    ...when.flatMap(mentionsOf),
    ...keysOf("users", then.balances, ["then", "balances"]),
    ...keysOf("users", then.positions, ["then", "positions"]),
    ...Object.entries(then.positions ?? {}).flatMap(([user, held]) =>
      keysOf("markets", held, ["then", "positions", user]),
    ),
    ...keysOf("markets", then.markets, ["then", "markets"]),
  ];
  return mentions.flatMap(({ kind, name, path, beside }): Finding[] => {
    const known = Object.keys(given[kind]);
    if (known.includes(name)) return [];
    const near = nearest(name, known);
    const message = `given.${kind} has no ${name}; ${near === undefined ? listed(known) : `did you mean ${near}?`}`;
    if (beside === undefined) return [{ path, message, code: "NOT_ONE_OF", meant: near }];
    // A correction that is another key of the mapping would state that key twice.
    const meant = near !== undefined && beside.includes(near) ? undefined : near;
    return [{ path, message, code: "UNKNOWN_KEY", atKey: true, meant }];
  });
}

/** A longer list would hide the intended name. */
const MOST_LISTED = 10;

function listed(known: readonly string[]): string {
  const names = known.slice(0, MOST_LISTED).join(", ") || "none";
  return `it has ${names}${known.length > MOST_LISTED ? ` and ${known.length - MOST_LISTED} more` : ""}`;
}

function mentionsOf({ trade, suspend, resume, settle, expect }: Step, index: number): Mention[] {
  const user: [Kind, string | undefined, Path] = ["users", trade?.user, ["trade", "user"]];
  const markets: [Kind, string | undefined, Path][] = [
    ["markets", trade?.market, ["trade", "market"]],
    ["markets", suspend, ["suspend"]],
    ["markets", resume, ["resume"]],
    ["markets", settle?.market, ["settle", "market"]],
  ];
  const meansNone = expect?.refused === "MARKET_NOT_FOUND";
  return [user, ...(meansNone ? [] : markets)].flatMap(([kind, name, path]) =>
    name === undefined ? [] : [{ kind, name, path: ["when", index, ...path] }],
  );
}

function keysOf(kind: Kind, record: object | undefined, path: Path): Mention[] {
  const beside = Object.keys(record ?? {});
  return beside.map((name) => ({ kind, name, path: [...path, name], beside }));
}

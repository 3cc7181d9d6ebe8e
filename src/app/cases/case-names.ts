import type { Finding, Path } from "../../config/config-error.ts";
import type { Case, Step } from "../../config/schema/case-schema.ts";
import { nearest } from "../../domain/nearest.ts";

/** The users and markets of a case, as `given` names them. */
type Kind = "users" | "markets";

/** A user or a market that a case speaks of. */
interface Mention {
  kind: Kind;
  name: string;
  path: Path;
  /** Where the name is a key: the names beside it. */
  beside?: readonly string[];
}

/**
 * The users and markets of `when` and `then` that `given` does not have. To the engine a misspelled user is a stranger
 * without money, who would meet many an expectation. A step may name a market that there is not to be refused so.
 */
export function unknownNames({ given, when, then }: Case): Finding[] {
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
    // In place of this key, one that stands beside it would be stated twice.
    const meant = near !== undefined && beside.includes(near) ? undefined : near;
    return [{ path, message, code: "UNKNOWN_KEY", atKey: true, meant }];
  });
}

/** More names would hide the one that is meant. */
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

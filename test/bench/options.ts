import { parseArgs } from "node:util";

/** The parts of a run, in the order in which they go. */
const USUAL = ["trades", "pgbench", "single", "two", "reads", "proofs", "growth", "process", "sizes"] as const;
/** `floors` measures what no change of ours can go below, and is asked for by name. */
export const PARTS = [...USUAL, "floors"] as const;
export type Part = (typeof PARTS)[number];

export interface BenchOptions {
  parts: ReadonlySet<Part>;
  /** How long each load lasts. */
  seconds: number;
  /** Trades that the tenant has before anything is measured. */
  history: number;
  /** Writes the figures into the documents. */
  record: boolean;
}

/** @throws TypeError for an option, part or number that does not exist */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      seconds: { type: "string", default: "4" },
      history: { type: "string", default: "20000" },
      record: { type: "boolean", default: false },
    },
  });
  const names = values.only?.split(",") ?? USUAL;
  const parts = names.map((name) => {
    const part = PARTS.find((each) => each === name);
    if (part === undefined) throw new TypeError(`--only takes some of ${PARTS.join(",")}, and not ${name}`);
    return part;
  });
  return {
    parts: new Set(parts),
    seconds: positive("--seconds", values.seconds),
    history: positive("--history", values.history),
    record: values.record,
  };
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new TypeError(`${option} takes a number above 0, and not ${text}`);
  return value;
}

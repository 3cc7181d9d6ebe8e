import type { ConfigSession } from "../../app/tenant/config-session.ts";
import { impactLines } from "../../client/impact-lines.ts";
import { ConfigError, type DiagnosticCode, type Path } from "../../config/config-error.ts";
import type { Json } from "../../domain/audit/audit-link.ts";
import { counted } from "../../domain/text.ts";
import { SEARCH } from "../../plan/plan-compare.ts";
import { CAPITAL_FIELD, type Choices, contested, freezeSaid, shortage } from "../../plan/plan-decision.ts";
import type { Plan, PlanItem, PlanMoney, Refusal } from "../../plan/plan-types.ts";
import { replayLines, replayMarkdown } from "../audit/replay-view.ts";
import { type Annotation, annotationOf } from "../output/annotations.ts";
import { plain, usd } from "../output/cells.ts";
import type { Output, View } from "../output/output.ts";
import type { Paint } from "../output/table.ts";

/** The effect of a change on the limits, in capitals so that people can search for it; lower case for a secret. */
export type Mark = "LOOSENS" | "TIGHTENS" | "loosens" | null;

export interface ShownPlan extends Omit<Plan, "items"> {
  items: ShownItem[];
}
/** A plan, with the reasons for which an unattended apply would refuse it. */
export interface JudgedPlan extends ShownPlan {
  refusals: Refusal[];
}
export type ShownItem = Omit<PlanItem, "direction"> & { mark: Mark };

/** The fields of an item, for `--fields ?`. */
export const ITEM_FIELDS = "field kind base desired live by mark problem";

type Row = ShownItem & { tenant: string };

/**
 * @param onDrift what happens to values that were changed live: those that are kept are shown as kept. A saved plan
 *   leaves that open
 */
export function shownPlan(plan: Plan, { onDrift = "fail" }: Partial<Pick<Choices, "onDrift">> = {}): ShownPlan {
  const { items, money } = plan;
  const kept = new Set(onDrift === "adopt" ? contested(plan) : []);
  const shown = items.map((item): PlanItem => (kept.has(item) ? { ...item, kind: "adopted" } : item));
  return { ...plan, items: shown.map(shownItem), ...(money && { money: moneyWithout(kept, money) }) };
}

/** The money of a plan where some fields keep their live value. */
function moneyWithout(kept: ReadonlySet<PlanItem>, { trades, ...money }: PlanMoney): PlanMoney {
  const fields = new Set([...kept].map(({ field }) => field));
  const rules = trades?.rules.filter(({ rule }) => !fields.has(`policy.${rule}`)) ?? [];
  return { ...money, trades: trades && { ...trades, rules } };
}

export function shownItem({ direction, ...item }: PlanItem): ShownItem {
  // A kept value changes no limit.
  return { ...item, mark: item.kind === "adopted" ? null : markOf(item.field, direction) };
}

function markOf(field: string, direction: PlanItem["direction"]): Mark {
  if (direction === "neutral") return null;
  if (direction === "loosens" && field.startsWith("secrets.")) return direction;
  return direction === "loosens" ? "LOOSENS" : "TIGHTENS";
}

export const planView = {
  kind: "list",
  rows: (plans) => plans.flatMap((plan) => inForce(plan).map((item) => ({ tenant: plan.tenant, ...item }))),
  columns: [
    { title: "", cell: symbolOfItem, paint: paintOf, whole: true },
    { title: "TENANT", cell: ({ tenant }) => tenant, optional: true, identifies: true },
    { title: "FIELD", cell: ({ field }) => field, paint: paintOf, whole: true },
    { title: "WHAT", cell: actionOf },
    { title: "LIVE", cell: ({ live }) => shownValue(live) },
    { title: "FILE", cell: ({ desired }) => shownValue(desired) },
    { title: "USD", cell: moneyOf, align: "right", optional: true },
    { title: "MARK", cell: ({ mark }) => mark?.toUpperCase() ?? "", paint: paintOf },
  ],
  empty: "Nothing differs from what is live.",
  below: (plans) => plans.map(replayMarkdown).filter(Boolean).join("\n\n"),
} satisfies View<readonly ShownPlan[], Row>;

/**
 * The table of some plans. Where no value differs and an apply still has something to store, it says so.
 * @param desired the title of the column with the values to be written
 */
export function planTable(plans: readonly Pick<ShownPlan, "empty">[], desired = "FILE"): typeof planView {
  return {
    ...planView,
    columns: planView.columns.map((each) => (each.title === "FILE" ? { ...each, title: desired } : each)),
    empty: plans.every(({ empty }) => empty) ? planView.empty : "No live value changes. Settings differ:",
  };
}

/** The items with the values that trades go by: of an overridden field the override's, which ends by itself. */
export function inForce({ items, overrides }: Pick<ShownPlan, "items" | "overrides">): ShownItem[] {
  return items.map((item) => ({
    ...item,
    live: overrides.find(({ field }) => field === item.field)?.value ?? item.live,
  }));
}

/** `+` for an added value, `-` for a removed one, `~` for a change. */
export function symbolOf(before: unknown, after: unknown): "+" | "~" | "-" {
  if (before === null) return "+";
  return after === null ? "-" : "~";
}

function symbolOfItem({ kind, live, desired }: Pick<ShownItem, "kind" | "live" | "desired">): string {
  return kind === "adopted" ? "=" : symbolOf(live, desired);
}

/** A loosening stands out, whatever else happens to the field. */
function paintOf(item: ShownItem): Paint {
  if (item.mark?.toUpperCase() === "LOOSENS") return "yellow";
  if (item.kind === "conflict") return "red";
  if (item.kind === "adopted") return "dim";
  return ({ "+": "green", "~": "cyan", "-": "red" } as const)[symbolOf(item.live, item.desired)];
}

/** The most that the treasury gives to a new market, or what it gets; empty for an item that moves no money. */
function moneyOf({ field, live, desired, problem }: ShownItem): string {
  if (problem !== undefined) return "";
  if (field === "treasury.capitalUsd") return `+${usd(Number(desired) - Number(live))}`;
  if (live !== null || typeof desired !== "object" || desired === null || !("liquidityUsd" in desired)) return "";
  return `-${usd(Number(desired.liquidityUsd))}`;
}

/** The action on an item, in one word. */
export function actionOf({ kind, live, desired }: Pick<ShownItem, "kind" | "live" | "desired">): string {
  if (kind === "adopted") return "keep";
  if (kind !== "change") return kind;
  if (live === null) return "create";
  return desired === null ? "remove" : "change";
}

/** The text of a value; a new market is shown by its question. */
export function shownValue(value: Json): string {
  if (typeof value === "object" && value !== null && "question" in value) return plain(value.question);
  return value === null ? "-" : plain(value);
}

/** One line for each item, for logs. */
function planLines(plan: ShownPlan): string[] {
  return inForce(plan).map((item) => {
    if (item.kind === "adopted")
      return `  ${symbolOfItem(item)} ${actionOf(item)} ${item.field}: ${shownValue(item.live)} (instead of ${shownValue(item.desired)})`;
    const mark = item.mark ? `  ${item.mark.toUpperCase()}` : "";
    return `  ${symbolOfItem(item)} ${actionOf(item)} ${item.field}: ${shownValue(item.live)} -> ${shownValue(item.desired)}${mark}`;
  });
}

/** Lines for which a table has no room: who changed live values, conflicts, settings, overrides, money and warnings. */
export function restLines(plan: ShownPlan): string[] {
  const { items, settings, overrides, rules, warnings } = plan;
  const atStart = settings.filter((path) => path !== SEARCH);
  return [
    ...(plan.freeze ? [freezeSaid(plan.tenant, plan.freeze)] : []),
    ...items.flatMap(({ field, by }) =>
      by ? [`${field} was changed live by ${by.actor} at ${by.ts}, audit entry ${by.seq}${because(by.reason)}`] : [],
    ),
    ...items.flatMap(({ field, problem }) => (problem === undefined ? [] : [`${field}: ${problem}`])),
    ...(atStart.length > 0 ? [`A server takes these up at its next start: ${atStart.join(", ")}`] : []),
    ...(atStart.length < settings.length ? [`A server takes this up at once: ${SEARCH}`] : []),
    ...overrides.map(overrideLine),
    ...moneyLines(plan),
    ...(rules ?? []).map(({ name, effect, message }) => {
      return `rules.${name} ${effect === "deny" ? "denies this" : "asks for approval"}: ${message}`;
    }),
    ...warnings.map((warning) => `Warning: ${warning}`),
  ];
}

const REFUSED: Record<Refusal["reason"], string> = {
  drift: "was changed live",
  conflict: "was changed live and in the file",
  loosening: "loosens a limit",
  rule: "breaks a rule",
  freeze: "the tenant is frozen",
  approval: "needs a person's yes",
  actors: "needs other actors",
};

/** One line for each reason to refuse, with the option that accepts it. */
export function refusalLines(plan: JudgedPlan): string[] {
  return refusalsSaid(plan).map(
    ({ field, message }) => `  ${plan.tenant}: ${field === null ? "" : `${field}: `}${message}`,
  );
}

/** The message for each refused field, with the option that accepts it. */
export function refusalsSaid({ items, rules = [], refusals, money }: JudgedPlan) {
  return refusals.map(({ reason, field, flag, message }) => {
    const rule = rules.find(({ name }) => field === `rules.${name}`)?.message;
    const told = items.find((item) => item.field === field)?.problem ?? rule;
    const short = field === CAPITAL_FIELD && reason === "conflict" ? shortage({ money }) : undefined;
    const problem = flag === null ? (short ?? told) : rule;
    const accepted = flag === null ? "" : `; ${flag} decides it`;
    const code = reason === "rule" || reason === "approval" ? ("RULE_DENIED" as const) : ("CONFLICT" as const);
    return { field, message: `${problem ?? message ?? REFUSED[reason]}${accepted}`, code };
  });
}

/** Each line begins with the tenant's name, because a command may show several tenants. */
export function noteRest(plan: ShownPlan, output: Pick<Output, "note">): void {
  for (const line of [...restLines(plan), ...replayLines(plan)]) output.note(`${plan.tenant}: ${line}`);
}

/** Prints the whole plan where the operator is asked nothing about it. */
export function notePlan(plan: ShownPlan, output: Pick<Output, "note">): void {
  for (const line of planLines(plan)) output.note(`${plan.tenant}: ${line.trim()}`);
  noteRest(plan, output);
}

/** An override is no drift, and yet what is live. A change for good ends it. */
export function overrideLine({ field, value, until }: { field: string; value: unknown; until: string }): string {
  return `${field} is ${plain(value)} until ${until}, by an override that ends by itself; pmctl policy set ends it before`;
}

/** The money that a plan may cost, in words. */
function moneyLines({ money }: Pick<ShownPlan, "money">): string[] {
  if (!money) return [];
  const { newMarkets, treasury, trades } = money;
  const lines: string[] = [];
  if (newMarkets.count > 0) {
    const short = shortage({ money }) === undefined ? "" : ": NOT ENOUGH";
    lines.push(
      `${counted(newMarkets.count, "new market")}: the house loses at most ${usd(newMarkets.worstCaseLossUsd)} USD; the treasury holds ${usd(treasury.nowUsd + treasury.addedUsd)} USD and keeps ${usd(treasury.afterUsd)} USD${short}`,
    );
  }
  if (trades) lines.push(...impactLines(trades, (amount) => `${usd(amount)} USD`));
  return lines;
}

function because(reason: string | null): string {
  return reason === null ? "" : ` (${reason})`;
}

type Files = Pick<ConfigSession, "config" | "markets">;

/** A message about one field of a plan, such as `policy.feeBps`, `markets.rain` or `rules.fees`. */
interface Said {
  field: string | null;
  message: string;
  code: DiagnosticCode;
}

/** Messages about fields, at their places in the tenant's files. */
export function annotationsAt(said: readonly Said[], { config, markets }: Files): Annotation[] {
  return said.flatMap(({ field, message, code }) => {
    const market = markets.find(({ key }) => `${field}.`.startsWith(`markets.${key}.`));
    if (market === undefined)
      return config.source.problems([{ path: pathOf(field, config), message, code }]).map(annotationOf);
    const { file, line, column } = market.source;
    const place = { file, line, column, endLine: line, endColumn: column };
    return [{ ...place, path: "", code, severity: "error" as const, message: `${field}: ${message}`, fix: null }];
  });
}

/** The problems of files that could not be planned. */
export function annotationsOf(error: unknown): Annotation[] {
  return error instanceof ConfigError ? error.problems.map(annotationOf) : [];
}

function pathOf(field: string | null, { rules }: Files["config"]): Path {
  const steps = field === null ? [] : field.split(".");
  return steps[0] === "rules" ? ["rules", rules.findIndex(({ name }) => field === `rules.${name}`), "expr"] : steps;
}

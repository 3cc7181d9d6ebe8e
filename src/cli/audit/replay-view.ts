import { counted } from "../../domain/text.ts";
import type { Plan } from "../../plan/plan-types.ts";
import { usd } from "../output/cells.ts";
import { markdownTable } from "../output/markdown.ts";

type Replay = NonNullable<Plan["replay"]>;
type Figures = Replay["recorded"];

/** The figures of a replay with their names, in the order of the report. */
const FIGURES: readonly [name: string, shown: (figures: Figures) => string][] = [
  ["trades", ({ trades }) => String(trades)],
  ["users", ({ users }) => String(users)],
  ["volume", ({ volumeUsd }) => usd(volumeUsd)],
  ["fees", ({ feesUsd }) => usd(feesUsd)],
  ["house result", ({ houseResultUsd }) => usd(houseResultUsd)],
  ["worst case", ({ worstCaseUsd }) => usd(worstCaseUsd)],
];

/** The lines of a replay: one for all commands and one for each category; none where the plan has no replay. */
export function replayLines({ replay }: Pick<Plan, "replay">): string[] {
  if (!replay) return [];
  const { from, to, commands, refused, digest, byCategory } = replay;
  const sums = ({ recorded, proposed }: { recorded: Figures; proposed: Figures }) =>
    FIGURES.map(([name, shown]) => `${name} ${changed(shown(recorded), shown(proposed))}`).join(", ");
  const codes = refused.byCode.map(({ code, trades }) => `${code} ${trades}`).join(", ");
  return [
    `Replay of ${counted(commands, "command")} from ${from} to ${to}, recorded -> proposed: ${sums(replay)}`,
    ...byCategory.map((each) => `Replay of ${each.category}: ${sums(each)}`),
    ...(refused.trades > 0
      ? [`Replay would refuse ${counted(refused.trades, "trade")} of ${counted(refused.users, "user")}: ${codes}`]
      : []),
    `Replay digest: ${digest}`,
  ];
}

/** The same figures as Markdown tables, for a pull request; empty where the plan has no replay. */
export function replayMarkdown({ tenant, replay }: Pick<Plan, "tenant" | "replay">): string {
  if (!replay) return "";
  const { from, to, commands, recorded, proposed, byCategory, refused, digest } = replay;
  const right = { align: "right" } as const;
  return [
    `**Replay for ${tenant}**: ${counted(commands, "command")} from ${from} to ${to}, under the proposed policy`,
    markdownTable(FIGURES, [
      { title: "", cell: ([name]) => name },
      { title: "Recorded", cell: ([, shown]) => shown(recorded), ...right },
      { title: "Proposed", cell: ([, shown]) => shown(proposed), ...right },
    ]),
    ...(byCategory.length === 0
      ? []
      : [
          markdownTable(byCategory, [
            { title: "Category", cell: ({ category }) => category },
            ...FIGURES.map(([title, shown]) => ({
              title,
              cell: (each: Replay["byCategory"][number]) => changed(shown(each.recorded), shown(each.proposed)),
              ...right,
            })),
          ]),
        ]),
    ...(refused.trades === 0
      ? ["No trade would have been refused."]
      : [
          markdownTable(
            [...refused.byCode, { code: "in all", trades: refused.trades, users: refused.users }],
            [
              { title: "Refused", cell: ({ code }) => code },
              { title: "Trades", cell: ({ trades }) => String(trades), ...right },
              { title: "Users", cell: ({ users }) => String(users), ...right },
            ],
          ),
        ]),
    `Digest: \`${digest}\``,
  ].join("\n\n");
}

function changed(recorded: string, proposed: string): string {
  return recorded === proposed ? proposed : `${recorded} -> ${proposed}`;
}

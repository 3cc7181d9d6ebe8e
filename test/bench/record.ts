import { AIMS, type Aim, type AimId, aimText, inUnit } from "./aims.ts";

/** Puts figures into the third column of a page's table of aims; rows without a figure stay as they are. */
export function recordFigures(page: string, figures: ReadonlyMap<AimId, number>): string {
  let recorded = page;
  for (const [id, figure] of figures) {
    const aim: Aim = AIMS[id];
    const beginning = `\n| ${aim.what} | ${aimText(aim)} | `;
    const at = recorded.indexOf(beginning);
    if (at < 0) throw new Error(`The page has no row for ${aim.what}`);
    const from = at + beginning.length;
    recorded = recorded.slice(0, from) + inUnit(figure, aim) + recorded.slice(recorded.indexOf(" |", from));
  }
  return recorded;
}

import { AIMS, type Aim, type AimId, aimText, inUnit, verdictOn } from "./aims.ts";

/** The figures of a run, printed as they come and judged together at its end. */
export class Report {
  readonly #figures = new Map<AimId, number>();
  readonly #troubles: string[] = [];

  note(line: string): void {
    console.log(line);
  }

  /** Takes a figure that has an aim; undefined where this machine cannot tell it. */
  figure(id: AimId, value: number | undefined): void {
    if (value !== undefined) this.#figures.set(id, value);
  }

  get figures(): ReadonlyMap<AimId, number> {
    return this.#figures;
  }

  /** What fails the run whatever its figures say. */
  trouble(line: string): void {
    this.#troubles.push(line);
    console.log(`NOT RIGHT: ${line}`);
  }

  /** Prints every figure beside its aim. Returns whether all of them held. */
  conclude(): boolean {
    let held = this.#troubles.length === 0;
    console.log("");
    for (const [id, figure] of this.#figures) {
      const aim: Aim = AIMS[id];
      const verdict = verdictOn(aim, figure);
      held = held && verdict !== "MISSED";
      console.log(`${aim.what.padEnd(50)} ${inUnit(figure, aim).padStart(12)}   ${aimText(aim).padEnd(20)} ${verdict}`);
    }
    for (const line of this.#troubles) console.log(`NOT RIGHT: ${line}`);
    return held;
  }
}

import { test } from "vitest";
import { simulate } from "./simulation.ts";
import { judge } from "./verdict.ts";
test("trace", async () => {
  const notes: string[] = [];
  const run = await simulate(Number(process.env.SEED), notes);
  console.log(notes.join("\n"));
  try { judge(run) } catch (e) { console.log(String(e)) }
});

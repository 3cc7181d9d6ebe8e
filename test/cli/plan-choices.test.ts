import { describe, expect, test } from "vitest";
import { asksAbout, type ChoiceOptions, chooserOf, reasonToApply } from "../../src/cli/config/plan-choices.ts";
import { planView, shownPlan } from "../../src/cli/config/plan-view.ts";
import { planMarkdown, refusalMarkdown } from "../../src/cli/config/step-summary.ts";
import { markdownCell } from "../../src/cli/output/markdown.ts";
import { Output } from "../../src/cli/output/output.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Plan } from "../../src/plan/plan-types.ts";
import { PlannedTenant } from "../plan/plan-world.ts";
import { testIo } from "./support/io.ts";

const policy = (text: string) => ({ sections: { policy: text } });

/** A plan with a value that was changed live, and one that the file loosens. */
function planned({ drift = false, loosens = false }): Plan {
  const tenant = new PlannedTenant();
  tenant.apply(policy("{ maxTradeUsd: 500, feeBps: 100 }"));
  if (drift) tenant.put({ feeBps: 50 });
  return tenant.plan(policy(`{ maxTradeUsd: ${loosens ? 600 : 400}, feeBps: 100 }`));
}

async function answers(plan: Plan, options: ChoiceOptions, given?: boolean[]) {
  const io = testIo(given ? { answers: [...given] } : {});
  const choices = await Promise.resolve(chooserOf(options, io)(plan)).catch((error: unknown) =>
    error instanceof Fault ? error.code : Promise.reject(error),
  );
  return { choices, questions: io.questions, stderr: io.stderr.text };
}

test("breaking a freeze takes its reason from the line, or from the operator at a terminal", async () => {
  const reasonWith = (options: ChoiceOptions & { reason?: string }, given?: string[]) =>
    reasonToApply(options, testIo(given ? { answers: [...given] } : {}).prompts);
  expect(await reasonWith({ breakFreeze: true }, ["a bug"])).toBe("a bug");
  expect(await reasonWith({ breakFreeze: true, reason: "an outage" }, ["a bug"])).toBe("an outage");
  expect(await reasonWith({}, ["a bug"])).toBeUndefined();
  const unasked = [reasonWith({ breakFreeze: true }), reasonWith({ breakFreeze: true, yes: true }, ["a bug"])];
  for (const refused of unasked)
    await expect(refused).rejects.toThrow("--break-freeze needs a reason in the audit log");
});

describe("who answers the questions of a plan", () => {
  test("without a terminal only the flags, and nothing is asked", async () => {
    const plan = planned({ drift: true, loosens: true });
    expect(await answers(plan, {})).toMatchObject({
      choices: { onDrift: "fail", acceptLoosening: false },
      questions: [],
    });
    expect(await answers(plan, { onDrift: "adopt", acceptLoosening: true })).toMatchObject({
      choices: { onDrift: "adopt", acceptLoosening: true },
    });
  });

  test("--yes on a terminal is as unattended: it accepts no loosening", async () => {
    expect(await answers(planned({ loosens: true }), { yes: true }, [])).toMatchObject({
      choices: { acceptLoosening: false },
      questions: [],
    });
  });

  test("a person sees the plan and is asked once, in words that name a loosening", async () => {
    const plain = await answers(planned({}), {}, [true]);
    expect(plain).toMatchObject({ choices: { acceptLoosening: false }, questions: ["Apply it?"] });
    expect(plain.stderr).toMatch(/^~ +acme +policy\.maxTradeUsd +change +500 +400 +TIGHTENS$/m);
    expect(await answers(planned({ loosens: true }), {}, [true])).toMatchObject({
      choices: { acceptLoosening: true },
      questions: ["This LOOSENS limits. Apply it?"],
    });
  });

  test("a person decides about drift first, and a no to anything stops it all", async () => {
    const plan = planned({ drift: true, loosens: true });
    expect(await answers(plan, {}, [true, true])).toMatchObject({
      choices: { onDrift: "overwrite", acceptLoosening: true },
    });
    expect(await answers(plan, {}, [false])).toMatchObject({
      choices: "REFUSED",
      stderr: expect.stringContaining("To keep them: `pmctl drift --write`"),
    });
    expect((await answers(plan, {}, [true, false])).choices).toBe("REFUSED");
    expect(await answers(plan, { onDrift: "fail" }, [])).toMatchObject({ choices: { onDrift: "fail" }, questions: [] });
  });

  test("an operator who was asked has seen the plan; otherwise it is printed, so that it is shown once", () => {
    const plan = planned({ loosens: true });
    expect(asksAbout(plan, {}, testIo({ answers: [true] }))).toBe(true);
    expect(asksAbout(plan, { yes: true }, testIo({ answers: [true] }))).toBe(false);
    expect(asksAbout(plan, {}, testIo())).toBe(false);
  });

  test("a rollback asks about live values in the words of a rollback", async () => {
    const io = testIo({ answers: [false] });
    await expect(chooserOf({}, io, 4)(planned({ drift: true }))).rejects.toThrow("Not confirmed");
    expect(io.questions).toEqual(["Live values were changed. Overwrite them with those of apply 4?"]);
    expect(io.stderr.text).toContain("APPLY 4");
    expect(io.stderr.text).not.toMatch(/\bfile\b/i);
  });

  test("a plan of settings alone says that they differ before it asks", async () => {
    const tenant = new PlannedTenant();
    tenant.apply({});
    const { stderr, questions } = await answers(tenant.plan({ sections: { rateLimit: "{ perMinute: 30 }" } }), {}, [
      true,
    ]);
    expect(questions).toEqual(["Apply it?"]);
    expect(stderr).toContain("No live value changes. Settings differ:\n");
    expect(stderr).toContain("rateLimit.perMinute");
  });

  test("a plan with nothing to do asks nothing", async () => {
    const tenant = new PlannedTenant();
    tenant.apply({});
    expect((await answers(tenant.plan({}), {}, [])).questions).toEqual([]);
  });
});

describe("Markdown of a plan", () => {
  test("is a table with the marks, then what the table has no room for", () => {
    const markdown = planMarkdown(shownPlan(planned({ loosens: true })));
    expect(markdown).toContain("### Plan for acme");
    expect(markdown).toContain("| `policy.maxTradeUsd` | change | `500` | `600` | **LOOSENS** |");
  });

  test("lets no text of a file out of its cell, nor of its line", () => {
    const tenant = new PlannedTenant();
    const plan = tenant.plan({ markets: [{ question: "a | b\n`c` <script>" }] });
    const row = planMarkdown(shownPlan(plan))
      .split("\n")
      .find((line) => line.includes("markets.rain"));
    expect(row).toBe("| `markets.rain` | create | `-` | `a \\| b 'c' &lt;script>` |  |");
  });

  test("holds no link, picture, emphasis, mention or issue that a text of a file begins", () => {
    expect(markdownCell("![a](http://e/p.png) @team [c](http://evil) `x` **b** _i_ # #12 &#64;team a\\|b")).toBe(
      "!\\[a\\](http://e/p.png) @&#8203;team \\[c\\](http://evil) \\`x\\` \\*\\*b\\*\\* \\_i\\_ \\# \\#&#8203;12 &amp;\\#&#8203;64;team a\\\\\\|b",
    );
    expect(markdownCell("mkt_019f ann@example.com R & D 50 %")).toBe("mkt_019f ann@example.com R & D 50 %");
  });

  test("of a refusal is its message, indented so that nothing in it is markup", () => {
    const markdown = refusalMarkdown("acme", new Fault("REFUSED", "one\n```\n# two"));
    expect(markdown.split("\n").slice(2)).toEqual(["    one", "    ```", "    # two"]);
  });
});

describe("a plan as a table", () => {
  const tenant = new PlannedTenant();
  tenant.apply(policy("{ maxTradeUsd: 500 }"));
  const sections = { policy: "{ maxTradeUsd: 600 }", treasury: "{ capitalUsd: 100500 }" };
  const plans = [shownPlan(tenant.plan({ sections, markets: [{ liquidityUsd: 50_000_000n }] }))];
  const printed = async (color: boolean, isTTY = true) => {
    let text = "";
    const stdout = { isTTY, columns: 140, write: (part: string) => (text += part) };
    await new Output({ stdout, stderr: stdout, color, format: "table" }).print(plans, planView);
    return text.replaceAll("\u001b", "ESC").split("\n");
  };

  test("has + ~ - before each field, what loosens in yellow, and money in its column", async () => {
    const [, ...lines] = await printed(true);
    const lineOf = (field: string) => lines.find((line) => line.includes(field)) ?? "";
    expect(lineOf("policy.maxTradeUsd")).toMatch(/^ESC\[33m~ESC\[39m .*ESC\[33mLOOSENS/);
    expect(lineOf("treasury.capitalUsd")).toMatch(/\+500\.00/);
    expect(lineOf("markets.rain")).toMatch(/^ESC\[32m\+.* -50\.00/);
  });

  test("has no colour where none is wanted, nor in pipes", async () => {
    for (const lines of [await printed(false), await printed(true, false)])
      expect(lines.join("\n")).not.toContain("ESC");
  });
});

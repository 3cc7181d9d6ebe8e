/** A suite of cases in the format of build services. */
export interface JunitSuite {
  name: string;
  cases: readonly JunitCase[];
}

interface JunitCase {
  name: string;
  file: string;
  line: number;
  ms: number;
  /** One-line sentences; empty where the case passed. */
  failures: readonly string[];
}

/** @see https://github.com/testmoapp/junitxml, which documents what the readers of this format agree on */
export function junitXml(suites: readonly JunitSuite[]): string {
  const lines = suites.map(
    (suite) =>
      `  <testsuite ${attributes({ name: suite.name, ...counts(suite.cases) })}>\n${suite.cases
        .map((each) => caseXml(suite.name, each))
        .join("")}  </testsuite>\n`,
  );
  const all = suites.flatMap(({ cases }) => cases);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${attributes({ name: "pmctl", ...counts(all) })}>\n${lines.join("")}</testsuites>\n`;
}

function caseXml(suite: string, { name, file, line, ms, failures }: JunitCase): string {
  const tag = attributes({ classname: suite, name, file, line, time: seconds(ms) });
  const [first] = failures;
  if (first === undefined) return `    <testcase ${tag}/>\n`;
  const failure = `<failure ${attributes({ message: first })}>${escaped(failures.join("\n"))}</failure>`;
  return `    <testcase ${tag}>\n      ${failure}\n    </testcase>\n`;
}

function counts(cases: readonly JunitCase[]): Record<string, string | number> {
  const failures = cases.filter((each) => each.failures.length > 0).length;
  return { tests: cases.length, failures, time: seconds(cases.reduce((sum, { ms }) => sum + ms, 0)) };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(6);
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(" ");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
/** Characters that no XML document may contain, not even as an entity. */
const IMPOSSIBLE = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

function escaped(text: string): string {
  return text.replace(IMPOSSIBLE, "\u{FFFD}").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

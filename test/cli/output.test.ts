import { describe, expect, test } from "vitest";
import { time } from "../../src/cli/output/cells.ts";
import { requireFields } from "../../src/cli/output/fields.ts";
import { nestedField } from "../../src/cli/output/nested.ts";
import type { View } from "../../src/cli/output/output.ts";
import { type Column, instantColumn, renderRecord, renderTable, toldFields } from "../../src/cli/output/table.ts";
import { displayWidth, shorten, wrapTo } from "../../src/cli/output/text-width.ts";
import { Fault } from "../../src/domain/fault.ts";
import { testIo } from "./support/io.ts";

interface Item {
  id: string;
  text: string;
  nested: { amount: number; codes: string[] };
}

const items: Item[] = [
  { id: "mkt_1", text: "Will 東京 win?", nested: { amount: 1.5, codes: ["NO"] } },
  { id: "mkt_2", text: 'Comma, "quote"\nand line', nested: { amount: 2, codes: [] } },
];

const view: View<readonly Item[], Item> = {
  kind: "list",
  rows: (list) => list,
  columns: [
    { title: "ID", cell: ({ id }) => id, whole: true },
    { title: "TEXT", cell: ({ text }) => text, least: 10 },
    { title: "AMOUNT", cell: ({ nested }) => String(nested.amount), align: "right", optional: true },
  ],
  empty: "Nothing here.",
};

describe("formats", () => {
  test("the default is JSON in a pipe and a table on a terminal", async () => {
    const piped = testIo();
    await piped.output.print(items, view);
    expect(JSON.parse(piped.stdout.text)).toEqual(items);
    const shown = testIo({ terminal: 100, color: false });
    await shown.output.print(items, view);
    expect(shown.stdout.text.split("\n")).toEqual([
      "ID     TEXT                     AMOUNT",
      "mkt_1  Will 東京 win?              1.5",
      'mkt_2  Comma, "quote" and line       2',
      "",
    ]);
  });

  test("ndjson is one line per row", async () => {
    const { output, stdout } = testIo({ format: "ndjson" });
    await output.print(items, view);
    expect(
      stdout.text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(items);
  });

  test("markdown is a table, in which no text begins a column, a line or HTML", async () => {
    const { output, stdout } = testIo({ format: "markdown" });
    await output.print([...items, { id: "a|b", text: "<img>", nested: { amount: 1, codes: [] } }], view);
    expect(stdout.text.split("\n")).toEqual([
      "| ID | TEXT | AMOUNT |",
      "| --- | --- | ---: |",
      "| mkt_1 | Will 東京 win? | 1.5 |",
      '| mkt_2 | Comma, "quote" and line | 2 |',
      "| a\\|b | &lt;img> | 1 |",
      "",
    ]);
    const picked = testIo({ format: "markdown", fields: ["id"] });
    await picked.output.print(items, view);
    expect(picked.stdout.text).toBe("| id |\n| --- |\n| mkt_1 |\n| mkt_2 |\n");
  });

  test("a table says how far an instant is from now, and markdown, which is read later, its time", async () => {
    const now = Date.parse("2030-01-01T12:00:00Z");
    const closing: View<typeof items, (typeof items)[number]> = {
      kind: "list",
      rows: () => items.slice(0, 1),
      columns: [instantColumn("CLOSES", () => "2030-01-01T12:06:00.000Z", { now }), instantColumn("ENDED", () => null)],
      empty: "",
    };
    const lines = async (format: "table" | "markdown") => {
      const { output, stdout } = testIo({ format });
      await output.print(items, closing);
      return stdout.text.trimEnd().split("\n").at(-1);
    };
    expect(await lines("table")).toBe("in 6 min  -");
    expect(await lines("markdown")).toBe("| 2030-01-01 12:06Z | - |");
  });

  test("csv quotes what needs it, and holds nested values as JSON", async () => {
    const { output, stdout } = testIo({ format: "csv" });
    await output.print(items, view);
    expect(stdout.text).toBe(
      [
        "id,text,nested",
        'mkt_1,Will 東京 win?,"{""amount"":1.5,""codes"":[""NO""]}"',
        'mkt_2,"Comma, ""quote""\nand line","{""amount"":2,""codes"":[]}"',
        "",
      ].join("\r\n"),
    );
  });

  test.each(["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u200b=1", "＝1"])(
    "csv gives a spreadsheet no formula: %j",
    async (text) => {
      const { output, stdout } = testIo({ format: "csv" });
      await output.print([{ id: "x", text, nested: { amount: -1, codes: [] } }], view);
      expect(stdout.text.replaceAll('"', "")).toMatch(/^id,text,nested\r\nx,'/);
    },
  );

  test.each(["x;=1+1;y", "x\t=1+1\ty"])("nor to one that splits at another separator: %j", async (text) => {
    const { output, stdout } = testIo({ format: "csv" });
    await output.print([{ id: text, text, nested: { amount: -1, codes: [] } }], view);
    const cell = `"${text.replace("=", "'=")}"`;
    expect(stdout.text.split("\r\n")[1]?.startsWith(`${cell},${cell},`)).toBe(true);
  });

  test("csv leaves numbers below zero what they are", async () => {
    const { output, stdout } = testIo({ format: "csv", fields: ["id", "nested.amount"] });
    await output.print([{ id: "x", text: "", nested: { amount: -1.5, codes: [] } }], view);
    expect(stdout.text).toContain("x,-1.5");
  });

  test("yaml quotes what old readers take for something else", async () => {
    const { output, stdout } = testIo({ format: "yaml" });
    await output.print(items, view);
    expect(stdout.text).toContain('- "NO"');
  });

  test("no rows: an empty list for programs, a sentence beside stdout for people", async () => {
    const piped = testIo({ format: "json" });
    await piped.output.print([], view);
    expect(piped.stdout.text).toBe("[]\n");
    const shown = testIo({ format: "table" });
    await shown.output.print([], view);
    expect([shown.stdout.text, shown.stderr.text]).toEqual(["", "Nothing here.\n"]);
  });

  test("fields picks, in any format, also inside, and null where a row has none", async () => {
    const picked = testIo({ format: "json", fields: ["id", "nested.amount"] });
    await picked.output.print(items, view);
    expect(JSON.parse(picked.stdout.text)).toEqual([
      { id: "mkt_1", "nested.amount": 1.5 },
      { id: "mkt_2", "nested.amount": 2 },
    ]);
    const table = testIo({ format: "table", fields: ["text", "id"] });
    await table.output.print(items.slice(0, 1), view);
    expect(table.stdout.text).toBe("text            id\nWill 東京 win?  mkt_1\n");
    const lacking = testIo({ format: "json", fields: ["id", "note"] });
    await lacking.output.print(items.slice(0, 1), view);
    expect(JSON.parse(lacking.stdout.text)).toEqual([{ id: "mkt_1", note: null }]);
  });

  test.each([
    [{ operation: "getUser" }, "userId", "userId.x"],
    [{ operation: "getMarket" }, "meta.source.name", "id.0"],
    [{ operation: "listAudit", rows: "entries" }, "payload.marketId", "entries"],
    [{ tenantFile: true, and: "file", ends: {} }, "policy.feeBps", "policy.feeBsp"],
    [{ names: "tenant plan", ends: {} }, "plan.changes", "changes"],
  ] as const)("before it runs, a command with %o takes --fields %s and refuses %s", (prints, right, wrong) => {
    expect(() => requireFields(prints, [right])).not.toThrow();
    expect(() => requireFields(prints, [right, wrong])).toThrow(`There is no field ${wrong}; the fields are: `);
  });

  test("a text is itself unless a format is asked for", async () => {
    const text: View<{ token: string }, { token: string }> = { kind: "text", text: ({ token }) => token };
    const plain = testIo();
    await plain.output.print({ token: "abc" }, text);
    expect(plain.stdout.text).toBe("abc\n");
    const asked = testIo({ format: "json" });
    await asked.output.print({ token: "abc" }, text);
    expect(JSON.parse(asked.stdout.text)).toEqual({ token: "abc" });
  });
});

describe("tables", () => {
  test("fit the terminal: optional columns go, then the widest is shortened, ids never", async () => {
    const { output, stdout } = testIo({ terminal: 19, color: false });
    await output.print(items, view);
    expect(stdout.text.split("\n")).toEqual(["ID     TEXT", "mkt_1  Will 東京 w…", 'mkt_2  Comma, "quo…', ""]);
  });

  test("where room is short, columns that say nothing go first, and what a column wants comes before optional ones", async () => {
    const row = { text: "a text of twenty-six chars", note: "note", none: "-" };
    const columns: Column<typeof row>[] = [
      { title: "TEXT", cell: ({ text }) => text, least: 10, wanted: 20 },
      { title: "NONE", cell: ({ none }) => none, optional: true },
      { title: "NOTE", cell: ({ note }) => note, optional: true },
    ];
    const at = (width: number) =>
      renderTable([row], columns, { width, title: (text) => text, paint: (text) => text }).split("\n")[1];
    expect([38, 37, 26, 25, 15].map(at)).toEqual([
      "a text of twenty-six chars  -     note",
      "a text of twenty-six chars  note",
      "a text of twenty-si…  note",
      "a text of twenty-six cha…",
      "a text of twen…",
    ]);
  });

  test("titles are set off by colour on a terminal only", async () => {
    const shown = testIo({ terminal: 80 });
    await shown.output.print(items, view);
    expect(shown.stdout.text).toContain("\u001b[2mID\u001b[22m");
    const piped = testIo({ format: "table" });
    await piped.output.print(items, view);
    expect(piped.stdout.text).not.toContain("\u001b");
  });

  test.each(["json", "ndjson", "table", undefined] as const)(
    "what a server answers reaches a terminal without control characters, as an error, a hint, a text or a name (%s)",
    async (format) => {
      const evil = "a\u001b[2J\u009b31mb\u202ec\u007f\u2028d";
      const io = testIo({ terminal: 80, debug: true, ...(format && { format }) });
      const { output, stdout, stderr } = io;
      output.fail(new Fault("ACCOUNT_RESTRICTED", evil, { detail: { requestId: evil } }), evil);
      output.list([evil]);
      await output.print({ evil }, { kind: "text", text: () => evil });
      for (const { text } of [stdout, stderr])
        expect(text.replaceAll(/\r?\n/g, "")).not.toMatch(/[\p{Cc}\u202e\u2028]/u);
    },
  );

  test("a question cannot repaint the operator's terminal", async () => {
    const { output, stdout } = testIo({ format: "table" });
    const evil = "a\u001b[2J\u001b]0;owned\u0007b\u202ec\rd\u009b31me";
    await output.print([{ id: "x", text: evil, nested: { amount: 0, codes: [] } }], view);
    expect(stdout.text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  test.each(["json", "ndjson", "yaml", "csv"] as const)("nor in %s, which a file gets as it is", async (format) => {
    const evil = "a\u001b[2J\u009b31mb\u202ec\u2028";
    const item = { id: "x", text: evil, nested: { amount: 0, codes: [] } };
    const shown = testIo({ format, terminal: 80 });
    await shown.output.print([item], view);
    expect(shown.stdout.text.replaceAll(/\r?\n/g, "")).not.toMatch(/[\p{Cc}\u202e\u2028]/u);
    const piped = testIo({ format });
    await piped.output.print([item], view);
    if (format === "csv") expect(piped.stdout.text).toContain(evil);
    else if (format === "json")
      expect([shown, piped].map(({ stdout }) => JSON.parse(stdout.text))).toEqual([[item], [item]]);
  });

  test("tsv is a header and a line per row, cut by tabs, and no value breaks a line or a column", async () => {
    const { output, stdout } = testIo({ format: "tsv", fields: ["id", "text", "nested"] });
    const rows = [
      { id: "x", text: "a\tb\nc", nested: { amount: 0, codes: ["US"] } },
      { id: "y", text: "=1+1", nested: { amount: 1e21, codes: [] } },
    ];
    await output.print(rows, view);
    expect(stdout.text).toBe(
      ["id\ttext\tnested", 'x\ta b c\t{"amount":0,"codes":["US"]}', 'y\t=1+1\t{"amount":1e+21,"codes":[]}', ""].join(
        "\n",
      ),
    );
  });

  test("nor in lines that are streamed, which a pipe gets as they are", async () => {
    const line = `${JSON.stringify({ text: "a\u009b31mb\u202ec" })}\n`;
    const [shown, piped] = [testIo({ terminal: 80 }), testIo()];
    for (const { output } of [shown, piped]) expect(await output.stream(line)).toBe(true);
    expect(shown.stdout.text.trimEnd()).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(JSON.parse(shown.stdout.text)).toEqual(JSON.parse(line));
    expect(piped.stdout.text).toBe(line);
  });

  test.each([
    ["abc", 3],
    ["東京", 4],
    ["é", 1],
    ["e\u0301", 1],
    ["🎉", 2],
    ["👨‍👩‍👧", 2],
    ["🇩🇪", 2],
    ["ｆｕｌｌ", 8],
    ["한국", 4],
  ])("%s takes %i columns", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  test("shortening never cuts a character and never gets wider than asked", () => {
    expect(shorten("東京タワー", 6)).toBe("東京…");
    expect(displayWidth(shorten("a東京タワー", 5))).toBeLessThanOrEqual(5);
    expect(shorten("abc", 3)).toBe("abc");
  });
});

describe("errors", () => {
  test("are one line on stderr with the Fault's exit code, and nothing on stdout", () => {
    const { output, stdout, stderr } = testIo();
    expect(output.fail(new Fault("MARKET_CLOSED", "Market is closed"))).toBe(7);
    expect([stdout.text, stderr.text]).toEqual(["", "pmctl: Market is closed\n"]);
  });

  test("are JSON when JSON was asked for", () => {
    const { output, stderr } = testIo({ format: "json" });
    output.fail(new Fault("NOT_FOUND", "Not\nfound"));
    expect(stderr.text).toBe('{"error":"Not\\nfound","code":"NOT_FOUND","requestId":null,"exit":5,"fix":null}\n');
  });

  test("that are ours end with 1 and show no stack", () => {
    const { output, stderr } = testIo();
    expect(output.fail(new TypeError("x is not a function"))).toBe(1);
    expect(stderr.text).toBe("pmctl: unexpected error: x is not a function (PMCTL_DEBUG=1 shows where)\n");
  });
});

describe("notes and progress", () => {
  test("quiet silences both, errors stay", () => {
    const { output, stderr } = testIo({ quiet: true, terminal: 80 });
    output.note("by the way");
    output.progress("1 of 2");
    expect(stderr.text).toBe("");
    output.fail(new Fault("USAGE", "no"));
    expect(stderr.text).toBe("pmctl: no\n");
  });

  test("progress is for terminals, and is gone before anything else is said", async () => {
    const piped = testIo();
    piped.output.progress("1 of 2");
    expect(piped.stderr.text).toBe("");
    const shown = testIo({ terminal: 80 });
    shown.output.progress("1 of 2");
    shown.output.note("done");
    expect(shown.stderr.text).toBe("\r\u001b[2K1 of 2\r\u001b[2Kdone\n");
  });
});

test("long sentences of a record go on below their beginning; long words stay whole, below their name", () => {
  const style = { width: 20, title: (text: string) => text, paint: (text: string) => text };
  const token = "x".repeat(30);
  expect(
    renderRecord(
      [
        ["found", "one two three four five"],
        ["key", token],
      ],
      style,
    ),
  ).toBe(`found  one two three\n       four five\nkey\n  ${token}`);
});

test("an object in a record has a line for each key, and a list one for each item", () => {
  const style = { width: 40, title: (text: string) => text, paint: (text: string) => text };
  const changes = { feeBps: { before: 100, after: null }, lists: ["a", { b: 1, c: [] }], none: {} };
  const fields = [nestedField("type", "policy.updated"), nestedField("changes", changes), nestedField("empty", {})];
  expect(renderRecord(toldFields(fields), style).split("\n")).toEqual([
    "type     policy.updated",
    "changes  feeBps:",
    "           before: 100",
    "           after: null",
    "         lists:",
    "           - a",
    "           - b: 1",
    "             c: []",
    "         none: {}",
    "empty    {}",
  ]);
});

test("a sentence in a table goes on below its beginning, and no word of it is lost", () => {
  const columns: Column<{ seq: number; what: string }>[] = [
    { title: "SEQ", cell: ({ seq }) => String(seq), align: "right" },
    { title: "WHAT", cell: ({ what }) => what, wraps: true, least: 12 },
    { title: "WHO", cell: () => "ann" },
  ];
  const style = { width: 22, title: (text: string) => text, paint: (text: string) => text };
  const rows = [
    { seq: 7, what: "bob bought 3 shares" },
    { seq: 12, what: "a" },
    { seq: 13, what: `key ${"x".repeat(14)}` },
  ];
  expect(renderTable(rows, columns, style).split("\n")).toEqual([
    "SEQ  WHAT          WHO",
    "  7  bob bought 3  ann",
    "     shares",
    " 12  a             ann",
    " 13  key           ann",
    "     xxxxxxxxxxxx",
    "     xx",
  ]);
  expect(renderTable(rows, columns, { ...style, width: undefined })).toContain("bob bought 3 shares  ann");
  expect(wrapTo("it closes 2031-01-01 00:00Z", 24)).toEqual(["it closes", "2031-01-01 00:00Z"]);
});

test("lines below a field are never broken, and each has a line of its own", () => {
  const style = { width: 30, title: (text: string) => text, paint: (text: string) => text };
  const [short, long] = ["pmctl plan", "pmctl market settle mkt_1 --outcome yes"];
  const rendered = (command: string) => renderRecord([["WARN", "one two three four five six", [command]]], style);
  expect(rendered(short)).toBe(`WARN  one two three four five\n      six\n      ${short}`);
  expect(rendered(long)).toBe(`WARN  one two three four five\n      six\n  ${long}`);
});

test("a refusal of a server tells people how to learn why, and leaves scripts alone", () => {
  const refusal = new Fault("MAX_TRADE_EXCEEDED", "Too much", { detail: { requestId: "req_1" } });
  const [person, script] = [testIo({ terminal: 80 }), testIo()];
  expect([person, script].map(({ output }) => output.fail(refusal))).toEqual([7, 7]);
  expect(person.stderr.text).toBe("pmctl: Too much\nWhy: pmctl why req_1\nNext: pmctl policy show\n");
  expect(script.stderr.text).toBe("pmctl: Too much\n");
});

test("a note that is too long for the terminal breaks between words, under its own indentation; in a pipe it stays", () => {
  const [narrow, piped] = [testIo({ terminal: 30 }), testIo()];
  const text = "Next:\n  pmctl apply acme   creates the database";
  for (const { output } of [narrow, piped]) output.note(text);
  expect(narrow.stderr.text).toBe("Next:\n  pmctl apply acme   creates\n  the database\n");
  expect(piped.stderr.text).toBe(`${text}\n`);
});

test("a column that names what a row belongs to stays where rows differ in it, and may go where they do not", () => {
  const columns: Column<string>[] = [
    { title: "TENANT", cell: (tenant) => tenant, optional: true, identifies: true },
    { title: "FIELD", cell: () => "policy.maxTradeUsd", whole: true },
  ];
  const style = { width: 20, title: (text: string) => text, paint: (text: string) => text };
  expect(renderTable(["acme", "acme"], columns, style)).not.toContain("acme");
  expect(renderTable(["acme", "beta"], columns, style)).toMatch(/acme[\s\S]*beta/);
});

test.each([
  ["2030-01-31T18:00:00.000Z", "2030-01-31 18:00Z"],
  ["2030-01-31T18:00:00Z", "2030-01-31 18:00Z"],
  // The time of an event is as wide in its one case of sixty as in the others.
  ["2030-01-31T18:00:00.250Z", "2030-01-31 18:00:00Z"],
  ["2030-01-31T18:00:07.000Z", "2030-01-31 18:00:07Z"],
  ["2030-01-31", "2030-01-31"],
])("%s reads %s: a full minute needs no seconds", (timestamp, shown) => {
  expect(time(timestamp)).toBe(shown);
});

import { OpeningTurns } from "../../src/app/shared/opening-turns.ts";
import { SharedOps } from "../../src/app/shared/shared-ops.ts";
import { ConnectionLender } from "../../src/postgres/lending.ts";
import { Metrics } from "../../src/server/observe/metrics.ts";
import { cell, code, NOTE, row, table } from "./markdown.ts";

const ABOUT = `What \`/metrics\` of the operations listener answers, in the text format of Prometheus. \`pmctl explain metric.NAME\` prints one. ${NOTE} The [runbook](../guides/runbook.md#alerts) says which of them to watch.

The process itself is shown by \`pmctl_process_*\` and \`pmctl_nodejs_*\`, as prom-client collects them. With \`up --shared\` a tenant's figures have the label \`tenant\`.`;

/** A family of figures under one name. */
interface Family {
  name: string;
  type: string;
  help: string;
  labels: string[];
}

export async function metricsPage(): Promise<string> {
  const own = familiesOf(await metricsOfTenant());
  const known = own.map(({ name }) => name);
  const shared = familiesOf(await metricsOfMany(), known);
  return `${[
    "# Metrics",
    ABOUT,
    "## Of each server",
    familyTable(own),
    "## Of a process with many tenants",
    "`pmctl up --shared` shows these as well.",
    familyTable(shared),
  ].join("\n\n")}\n`;
}

/** The text with a figure of each family: whatever a server counts is counted once here. */
async function metricsOfTenant(): Promise<string> {
  const metrics = new Metrics(false);
  metrics.requests.forRoute("/v1/trade", "POST", true).observe(200, 0.01, undefined);
  metrics.observeBatch(1);
  metrics.countDelivery("crm", "delivered");
  metrics.countMismatch("getMarket");
  metrics.setQueueLength(() => 0);
  metrics.setConnections(
    () => ({ api: 1 }),
    () => 0,
  );
  metrics.setDraining(() => false);
  metrics.setLeases(() => [["sweep", 1]]);
  metrics.setOldestUndelivered(() => new Map([["crm", 0]]));
  metrics.setOracle({ sweepAgeMs: () => 0, read: async () => ({ held: 0, feedAgesSec: new Map([["pm:btc", 1]]) }) });
  metrics.setDatabase({
    connections: () => 1,
    failovers: () => 0,
    read: async () => ({
      synchronousStandbys: 1,
      standbys: [{ name: "b", state: "streaming", sync: "sync", lagBytes: 0 }],
    }),
  });
  metrics.setIntegrity({ isSound: () => true, newest: () => ({ seq: 1, ts: "2030-01-01T00:00:00.000Z" }) });
  metrics.setLedgerVerified(() => 0);
  metrics.countAnchorFailure("file");
  return metrics.text();
}

async function metricsOfMany(): Promise<string> {
  const ops = new SharedOps({
    tenants: new Map(),
    problems: new Map([["acme", "its file is not valid"]]),
    lenders: new Map([["db.example:5432", new ConnectionLender(1)]]),
    turns: new OpeningTurns(),
    metrics: new Metrics(false),
    isDraining: () => false,
  });
  return (await ops.answer("/metrics", new URLSearchParams()))?.body ?? "";
}

/**
 * @param known families that are left out
 * @throws Error for a family without a figure, whose labels nothing shows
 */
function familiesOf(text: string, known: readonly string[] = []): Family[] {
  const lines = text.split("\n");
  return lines.flatMap((line) => {
    const [, name = "", help = ""] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
    if (name === "" || known.includes(name)) return [];
    const type = lines.find((each) => each.startsWith(`# TYPE ${name} `))?.split(" ")[3] ?? "";
    const sample = lines.find((each) => new RegExp(`^${name}(_bucket)?[{ ]`).test(each));
    if (sample === undefined) throw new Error(`${name} has no figure here: let metrics-page.ts count one`);
    const labels = [...sample.matchAll(/[{,](\w+)=/g)].map(([, label = ""]) => label).filter((label) => label !== "le");
    return [{ name, type, help, labels }];
  });
}

function familyTable(families: readonly Family[]): string {
  return table(
    ["name", "type", "labels", "unit", "what it is"],
    families.map(({ name, type, labels, help }) =>
      row(code(name), type, labels.map(code).join(", "), unitOf(name), cell(help)),
    ),
  );
}

/** After Prometheus's convention a name ends with its unit, and `_total` marks a counter. */
function unitOf(name: string): string {
  return /_(seconds|bytes)(?:_total)?$/.exec(name)?.[1] ?? "";
}

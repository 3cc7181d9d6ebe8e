/** A text of Prometheus's format, and a label that all of its samples get. */
export interface LabelledMetrics {
  text: string;
  label: string;
  value: string;
}

interface Family {
  /** Its HELP and TYPE. */
  head: string[];
  samples: string[];
}

/** One text of several, in which each family stands once with the samples of all. */
export function mergeMetrics(parts: readonly LabelledMetrics[]): string {
  const families = new Map<string, Family>();
  for (const { text, label, value } of parts) {
    let family: Family = { head: [], samples: [] };
    for (const line of text.split("\n")) {
      const [, kind, name = ""] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (kind !== undefined) {
        family = families.get(name) ?? { head: [], samples: [] };
        families.set(name, family);
        if (!family.head.some((known) => known.startsWith(`# ${kind} `))) family.head.push(line);
      } else if (line !== "" && !line.startsWith("#")) family.samples.push(labelled(line, `${label}="${value}"`));
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${lines.join("\n")}\n`;
}

function labelled(sample: string, label: string): string {
  return sample.replace(/^([\w:]+)(\{?)/, (_, name: string, brace: string) =>
    brace === "" ? `${name}{${label}}` : `${name}{${label},`,
  );
}

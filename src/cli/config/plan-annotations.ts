import type { ConfigSession } from "../../app/tenant/config-session.ts";
import { ConfigError, type DiagnosticCode, type Path } from "../../config/config-error.ts";
import { type Annotation, annotationOf } from "../output/annotations.ts";

type Files = Pick<ConfigSession, "config" | "markets">;

/** What is said of one field of a plan, such as `policy.feeBps`, `markets.rain` or `rules.fees`. */
interface Said {
  field: string | null;
  message: string;
  code: DiagnosticCode;
}

/** What is said of fields, at their places in the tenant's files. */
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

/** What is wrong in files that could not be planned. */
export function annotationsOf(error: unknown): Annotation[] {
  return error instanceof ConfigError ? error.problems.map(annotationOf) : [];
}

function pathOf(field: string | null, { rules }: Files["config"]): Path {
  const steps = field === null ? [] : field.split(".");
  return steps[0] === "rules" ? ["rules", rules.findIndex(({ name }) => field === `rules.${name}`), "expr"] : steps;
}

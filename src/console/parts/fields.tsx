/** What a person fills in; its value is text until the action sends it. */
export interface Field {
  name: string;
  label: string;
  kind: "choice" | "text" | "number" | "time";
  /** Of a choice: the value, and its words. */
  options?: readonly (readonly [value: string, text: string])[];
  isOptional?: boolean;
  /** Words for the record alone: they change nothing of what would happen. */
  isWords?: true;
  /** Shown under the field. */
  hint?: string;
  /** Shown only with these values of other fields. */
  when?(values: Values): boolean;
}

export type Values = Readonly<Record<string, string>>;

const INPUTS = {
  text: { type: "text" },
  number: { type: "number", step: "any" },
  time: { type: "datetime-local" },
} as const;

export function isComplete(fields: readonly Field[], values: Values): boolean {
  return fields.every(
    ({ name, isOptional, when }) => isOptional || (when && !when(values)) || (values[name] ?? "").trim() !== "",
  );
}

export function Fields({
  of,
  values,
  onChange,
}: {
  of: readonly Field[];
  values: Values;
  onChange(next: Values): void;
}) {
  const give = (name: string, value: string): void => onChange({ ...values, [name]: value });
  return (
    <>
      {of
        .filter(({ when }) => when === undefined || when(values))
        .map(({ name, label, kind, options = [], isOptional, hint }) =>
          kind === "choice" ? (
            <fieldset key={name} class="choices">
              <legend>{label}</legend>
              {options.map(([value, text]) => (
                <label key={value}>
                  <input
                    type="radio"
                    name={name}
                    value={value}
                    checked={values[name] === value}
                    onChange={() => give(name, value)}
                  />
                  {text}
                </label>
              ))}
            </fieldset>
          ) : (
            <label key={name} class="field">
              {isOptional ? `${label} (optional)` : label}
              <input
                {...INPUTS[kind]}
                required={!isOptional}
                value={values[name] ?? ""}
                onInput={({ currentTarget }) => give(name, currentTarget.value)}
              />
              {hint && <small>{hint}</small>}
            </label>
          ),
        )}
    </>
  );
}
